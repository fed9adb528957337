"""How does a client call an ASGI application without sockets, also one that streams? As an httpx2 transport.

The application runs in the nursery that was given, as a server's; a client that leaves cancels its request.
"""

from collections.abc import AsyncIterator
from typing import NoReturn

import attrs
import httpx2
import trio
from hypercorn.typing import (
    ASGIFramework,
    ASGIReceiveEvent,
    ASGISendEvent,
    ConnectionState,
    HTTPRequestEvent,
    HTTPScope,
)

from sie.testing.kube.streaming import Cut

PIECES = 4
"""Of a body that wait for a slow client; then the application waits."""


@attrs.define(eq=False)
class _Call:
    """One request: the application writes, the client reads."""

    body: bytes
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    started: trio.Event = attrs.field(factory=trio.Event, init=False)
    status: int = attrs.field(default=0, init=False)
    headers: list[tuple[bytes, bytes]] = attrs.field(factory=list, init=False)
    whole: bool = attrs.field(default=False, init=False)
    _asked: bool = attrs.field(default=False, init=False)
    _send: trio.MemorySendChannel[bytes] = attrs.field(init=False)
    pieces: trio.MemoryReceiveChannel[bytes] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._send, self.pieces = trio.open_memory_channel[bytes](PIECES)

    async def run(self, app: ASGIFramework, scope: HTTPScope) -> None:
        with self.scope:
            try:
                await app(scope, self.receive, self.send)
            except Cut:
                pass  # told to the client by what is missing
            finally:
                self._send.close()
                self.started.set()

    async def receive(self) -> ASGIReceiveEvent:
        if self._asked:
            await _for_ever()
        self._asked = True
        return HTTPRequestEvent(type="http.request", body=self.body, more_body=False)

    async def send(self, event: ASGISendEvent) -> None:
        if event["type"] == "http.response.start":
            self.status, self.headers = event["status"], list(event["headers"])
            self.started.set()
        elif event["type"] == "http.response.body":
            if event["body"]:
                await self._send.send(event["body"])
            self.whole = not event["more_body"]


async def _for_ever() -> NoReturn:
    """A client that leaves cancels the request instead."""
    await trio.sleep_forever()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, call: _Call) -> None:
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._call.pieces:
            yield piece
        if not self._call.whole:
            raise httpx2.ReadError("the connection ended in the middle of the answer")

    async def aclose(self) -> None:
        self._call.scope.cancel()


@attrs.define(eq=False)
class InProcess(httpx2.AsyncBaseTransport):
    """`blocked` makes every new request wait and end in nothing, as behind a partition."""

    app: ASGIFramework
    nursery: trio.Nursery
    blocked: bool = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.blocked:
            await trio.sleep_forever()
        call = _Call(await request.aread())
        self.nursery.start_soon(call.run, self.app, _scope_of(request))
        try:
            await call.started.wait()
        except trio.Cancelled:
            call.scope.cancel()
            raise
        if not call.status:
            raise httpx2.ReadError("the connection ended without an answer")
        return httpx2.Response(call.status, headers=call.headers, stream=_Body(call))


def _scope_of(request: httpx2.Request) -> HTTPScope:
    return HTTPScope(
        type="http",
        asgi={"version": "3.0", "spec_version": "2.3"},
        http_version="1.1",
        method=request.method,
        scheme=request.url.scheme,
        path=request.url.path,
        raw_path=request.url.raw_path,
        query_string=request.url.query,
        root_path="",
        headers=[(name.lower(), value) for name, value in request.headers.raw],
        client=None,
        server=(request.url.host, request.url.port),
        state=ConnectionState({}),
        extensions={},
    )
