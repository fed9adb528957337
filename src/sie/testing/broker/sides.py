"""What may a history do to a broker besides using its bus? The model's side and the real server's, under one Protocol.

Both open buses, end and start the server, and do what costs a client its connection.
"""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

import attrs
import trio

from sie.bus.api import Bus
from sie.bus.limits import header_bytes
from sie.bus.nats import open_bus
from sie.testing.broker.face import open_broker_bus
from sie.testing.broker.links import Link
from sie.testing.broker.model import Broker
from sie.testing.broker.raw import HEADERS, open_raw
from sie.testing.nats_server import HOST, NatsServer

RAW_S = 10.0
MAX_PENDING_BYTES = 2 * 1024 * 1024
"""Of the servers that histories run on: far less than the default, so that a slow consumer is cheap."""
CHUNK_BYTES = 1024 * 1024


class Side(Protocol):
    def open_bus(self, name: str) -> AbstractAsyncContextManager[Bus]: ...

    async def restart(self) -> None:
        """In good order: what is on disk is whole."""
        ...

    async def send_oversized(self, subject: str, over_bytes: int) -> bool:
        """Whether the connection lived through a message of max_payload and so many bytes, headers counted."""
        ...

    async def send_to_slow(self, subject: str, chunks: int) -> bool:
        """Whether the connection of one who does not read lived through so many chunks for it."""
        ...


@attrs.frozen
class ModelSide:
    broker: Broker

    def open_bus(self, name: str) -> AbstractAsyncContextManager[Bus]:
        return open_broker_bus(self.broker, "", inbox=f"_INBOX.{name}", name=name)

    async def restart(self) -> None:
        self.broker.restart()

    async def send_oversized(self, subject: str, over_bytes: int) -> bool:
        link = self._connect()
        size_bytes = self.broker.max_payload - header_bytes(HEADERS) + over_bytes
        self.broker.publish(link, subject, bytes(size_bytes), headers=HEADERS)
        return self._lived(link)

    async def send_to_slow(self, subject: str, chunks: int) -> bool:
        slow, writer = self._connect(), self._connect()
        self.broker.subscribe(slow, 1, subject)
        for _ in range(chunks):
            self.broker.publish(writer, subject, bytes(CHUNK_BYTES))
        self.broker.disconnect(writer)
        return self._lived(slow)

    def _connect(self) -> Link:
        return self.broker.connect("raw", on_sent=_ignore, on_closed=_ignore)

    def _lived(self, link: Link) -> bool:
        lived = link.is_open
        self.broker.disconnect(link)
        return lived


@attrs.frozen
class ServerSide:
    server: NatsServer

    def open_bus(self, name: str) -> AbstractAsyncContextManager[Bus]:
        return open_bus(self.server.url, inbox=f"_INBOX.{name}", name=name)

    async def restart(self) -> None:
        await self.server.stop()
        await self.server.start()

    async def send_oversized(self, subject: str, over_bytes: int) -> bool:
        with trio.fail_after(RAW_S):
            async with open_raw(HOST, self.server.port) as raw:
                return await raw.publish_with_headers(subject, raw.max_payload + over_bytes)

    async def send_to_slow(self, subject: str, chunks: int) -> bool:
        with trio.fail_after(RAW_S):
            async with open_raw(HOST, self.server.port) as slow, open_raw(HOST, self.server.port) as writer:
                await slow.listen(subject)
                for _ in range(chunks):
                    await writer.publish(subject, CHUNK_BYTES)
                return await slow.lives()


def _ignore() -> None:
    return
