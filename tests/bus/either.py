"""One broker for a test, a real nats-server or the double of it: the same claims are made of both."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import attrs
import trio

from sie.bus.api import Bus, OpenBus
from sie.bus.nats import open_bus
from sie.testing.broker.face import open_broker, open_broker_bus
from sie.testing.broker.model import Broker
from sie.testing.nats_server import open_nats_server

Kind = Literal["real", "double"]
KINDS: tuple[Kind, ...] = ("real", "double")


@attrs.frozen
class Either:
    """`kill` loses what is in memory."""

    url: str
    open_bus: OpenBus
    kill: Callable[[], Awaitable[None]]
    start: Callable[[], Awaitable[None]]

    def bus(self, name: str) -> AbstractAsyncContextManager[Bus]:
        return self.open_bus(self.url, inbox=f"_INBOX.{name}", name=name)


@asynccontextmanager
async def open_either(kind: Kind, folder: Path) -> AsyncIterator[Either]:
    if kind == "real":
        async with open_nats_server(store_dir=folder) as server:
            yield Either(server.url, open_bus, server.kill, server.start)
    else:
        async with open_broker() as broker:
            yield double(broker)


def double(broker: Broker) -> Either:
    return Either("nats://double", partial(open_broker_bus, broker), _later(broker.stop), _later(broker.start))


def _later(do: Callable[[], None]) -> Callable[[], Awaitable[None]]:
    async def doing() -> None:
        await trio.lowlevel.checkpoint()
        do()

    return doing
