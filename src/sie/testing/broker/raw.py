"""How does a test say to a real nats-server what no client library would? One connection that speaks the protocol bare.

A server that hangs up meanwhile may break the pipe under what is written; that is an answer, too.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import trio

HEADERS = {"k": "v"}
HEADER_BLOCK = b"NATS/1.0\r\nk: v\r\n\r\n"
CONNECT = b'CONNECT {"headers":true,"verbose":false}\r\n'


@attrs.define(eq=False)
class RawConnection:
    stream: trio.SocketStream
    max_payload: int = attrs.field(default=0, init=False)

    async def begin(self) -> None:
        told = b""
        while b"\r\n" not in told:
            told += await self.stream.receive_some()
        self.max_payload = json.loads(told.removeprefix(b"INFO "))["max_payload"]
        await self.stream.send_all(CONNECT)

    async def listen(self, subject: str) -> bool:
        return await self._lives_through(f"SUB {subject} 1\r\n".encode())

    async def publish(self, subject: str, size_bytes: int) -> bool:
        return await self._lives_through(f"PUB {subject} {size_bytes}\r\n".encode() + bytes(size_bytes) + b"\r\n")

    async def publish_with_headers(self, subject: str, size_bytes: int) -> bool:
        """`size_bytes` of headers and payload together."""
        line = f"HPUB {subject} {len(HEADER_BLOCK)} {size_bytes}\r\n".encode()
        return await self._lives_through(line + HEADER_BLOCK + bytes(size_bytes - len(HEADER_BLOCK)) + b"\r\n")

    async def lives(self) -> bool:
        """Reads all that came, up to the answer to a ping or the end."""
        return await self._lives_through(b"")

    async def _lives_through(self, sent: bytes) -> bool:
        try:
            await self.stream.send_all(sent + b"PING\r\n")
            tail = b""
            while not tail.endswith(b"PONG\r\n"):
                chunk = await self.stream.receive_some()
                if not chunk:
                    return False
                tail = (tail + chunk)[-len(b"PONG\r\n") :]
        except trio.BrokenResourceError:
            return False
        return True


@asynccontextmanager
async def open_raw(host: str, port: int) -> AsyncIterator[RawConnection]:
    async with await trio.open_tcp_stream(host, port) as stream:
        connection = RawConnection(stream)
        await connection.begin()
        yield connection
