"""How do services hold the broker double as they hold a real one (§8)? On Trio, under the very `BusFront` of `sie.bus`.

`async with open_broker() as broker, open_broker_bus(broker, url, inbox=…, name=…) as bus`; `partial(open_broker_bus,
broker)` is an `OpenBus`. Faults: `broker.stop()`, `start()`, `restart()`, `disconnect(link)`, and a `Network` per bus.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from math import inf
from typing import NoReturn

import attrs
import trio

from sie.bus.api import Bus
from sie.bus.background import background
from sie.bus.dialling import Tries
from sie.bus.front import BusFront, holding
from sie.testing.broker.model import Broker, ServerDown
from sie.testing.broker.network import Network
from sie.testing.broker.session import Session
from sie.testing.broker.wakes import Wake

OUTBOX_MAX_BYTES = 64 * 1024 * 1024  # that of `sie.bus.nats`
CLOSE_S = 1.0


@asynccontextmanager
async def open_broker(broker: Broker | None = None) -> AsyncIterator[Broker]:
    """A running broker on Trio's clock, for as long as the block."""
    running = Broker(trio.current_time) if broker is None else broker
    wake = Wake()
    running.agenda.on_earlier = wake.set

    async def keep_time_forever() -> NoReturn:
        while True:
            running.catch_up()
            due_s = running.next_due_s()
            await wake.wait_until(inf if due_s is None else due_s)

    async with background(keep_time_forever):
        yield running


def open_broker_bus(
    broker: Broker,
    url: str,
    *,
    inbox: str,
    name: str,
    network: Network | None = None,
    outbox_max_bytes: int = OUTBOX_MAX_BYTES,
) -> AbstractAsyncContextManager[Bus]:
    """As `sie.bus.nats.open_bus`; the url names no other broker than this one."""
    del url
    front = BusFront(inbox)
    dialler = _Dialler(broker, front, network or Network(), name, outbox_max_bytes)
    return holding(front, dialler.run, close=dialler.close)


@attrs.define(eq=False)
class _Dialler:
    """Keeps sessions under a bus, one after another."""

    broker: Broker
    front: BusFront
    network: Network
    name: str
    outbox_max_bytes: int
    _sessions: int = attrs.field(default=0, init=False)
    _session: Session | None = attrs.field(default=None, init=False)
    _closing: trio.Event = attrs.field(factory=trio.Event, init=False)
    _closed: trio.Event = attrs.field(factory=trio.Event, init=False)
    _life: trio.CancelScope = attrs.field(factory=lambda: trio.CancelScope(shield=True), init=False)

    async def run(self) -> None:
        """Returns after `close`. The shield has its deadline from there."""
        try:
            with self._life:
                await self._keep_sessions()
        finally:
            self._closed.set()

    async def close(self) -> None:
        """Send what the outbox holds, if there is a connection."""
        self._closing.set()
        self._life.deadline = trio.current_time() + CLOSE_S
        if self._session is not None:
            self._session.outbox.close()
        with trio.CancelScope(shield=True, deadline=self._life.deadline + CLOSE_S):
            await self._closed.wait()

    async def _keep_sessions(self) -> None:
        tries = Tries()
        while not self._closing.is_set() and self.front.failure is None:
            tries.next()
            began_s = trio.current_time()
            if await self._run_session():
                tries.lasted(trio.current_time() - began_s)
            with trio.move_on_after(tries.wait_s):
                await self._closing.wait()

    async def _run_session(self) -> bool:
        """False: the broker could not be reached."""
        await trio.sleep(2 * self.network.latency_s)
        if self.network.blocked:
            return False
        try:
            session = Session(self.broker, self.front, self.network, self.name, self.outbox_max_bytes)
        except ServerDown:
            return False
        self._session = session
        if self._closing.is_set():
            session.outbox.close()
        self._sessions += 1
        await session.run(self._sessions)
        return True
