"""A service's surroundings without sockets and threads: its application is called, and its work done, in place."""

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import attrs
import httpx2
import trio
from hypercorn.typing import ASGIFramework, ASGIReceiveEvent, ASGISendEvent, ConnectionState, WebsocketScope

from sie.runtime.world import Machine
from sie.testing.cluster.machine import work_in_place


def machine_in_place(stop: trio.Event, *, unix_s: Callable[[], float]) -> Machine:
    """Ids are the same in every run."""
    return Machine(unix_s, random.Random(7), work_in_place, stop)


@attrs.define
class ServerInPlace:
    """A `Serve` that keeps the application for `client` to call."""

    app: ASGIFramework | None = None

    async def serve(
        self,
        app: ASGIFramework,
        *,
        host: str,
        port: int,
        stop: trio.Event,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        self.app = app
        task_status.started(f"http://{host}:{port}")
        await stop.wait()

    def client(self) -> httpx2.AsyncClient:
        assert self.app is not None
        transport = httpx2.ASGITransport(app=self.app)  # type: ignore[arg-type]  # Hypercorn's ASGI is in TypedDicts
        return httpx2.AsyncClient(transport=transport, base_url="http://in-place")

    @asynccontextmanager
    async def socket(
        self, path: str, headers: Mapping[str, str] | None = None, *, reads: bool = True
    ) -> AsyncIterator["SocketInPlace"]:
        """Left at the end of the block; what the application still does then is waited for."""
        assert self.app is not None
        opened = SocketInPlace(reads)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(opened.run, self.app, _socket_scope(path, headers or {}))
            yield opened
            opened.left.set()
            await opened.over.wait()


@attrs.define(eq=False)
class SocketInPlace:
    """A WebSocket from its client's side. One that does not read holds up whoever sends, as a full network does.

    `status` is that of a handshake that was refused; `over` comes when the application is done with it.
    """

    reads: bool
    frames: list[str] = attrs.field(factory=list)
    status: int | None = None
    left: trio.Event = attrs.field(factory=trio.Event)
    over: trio.Event = attrs.field(factory=trio.Event)
    _said_hello: bool = False

    async def run(self, app: ASGIFramework, scope: WebsocketScope) -> None:
        await app(scope, self.receive, self.send)
        self.over.set()

    async def receive(self) -> ASGIReceiveEvent:
        if not self._said_hello:
            self._said_hello = True
            return {"type": "websocket.connect"}
        await self.left.wait()
        return {"type": "websocket.disconnect", "code": 1001}

    async def send(self, event: ASGISendEvent) -> None:
        await trio.lowlevel.checkpoint()
        if event["type"] == "websocket.http.response.start":
            self.status = event["status"]
        elif event["type"] == "websocket.send":
            if not self.reads:
                await trio.sleep_forever()
            self.frames.append(event["text"] or "")


def _socket_scope(path: str, headers: Mapping[str, str]) -> WebsocketScope:
    return {
        "type": "websocket",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "scheme": "ws",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"in-place"), *((name.encode(), value.encode()) for name, value in headers.items())],
        "client": ("client", 1),
        "server": ("server", 80),
        "subprotocols": [],
        "state": ConnectionState({}),
        "extensions": {"websocket.http.response": {}},
    }
