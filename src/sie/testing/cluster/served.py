"""An application served without sockets: clients call it as bare ASGI, in the server's own nursery as Hypercorn does.

So a client that leaves is told to the application, a process that dies takes its requests with it, and a server that
is asked to stop finishes what it has within the same bound as the real one.
"""

from collections.abc import Mapping

import attrs
import trio
from hypercorn.typing import ASGIFramework, ASGIReceiveEvent, ASGISendEvent, ConnectionState, HTTPScope

from sie.web.server import DRAIN_S


class ConnectionLost(Exception):
    """There is no server, or it went away before its whole answer was there."""


@attrs.frozen
class Call:
    """A request as a client sends it; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = {}
    body: bytes = b""


@attrs.frozen
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


@attrs.define(eq=False)
class AppServer:
    """The `Serve` of one process, again after each restart."""

    _app: ASGIFramework | None = None
    _nursery: trio.Nursery | None = None

    async def serve(
        self,
        app: ASGIFramework,
        *,
        host: str,
        port: int,
        stop: trio.Event,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        async with trio.open_nursery() as nursery:
            self._app, self._nursery = app, nursery
            task_status.started(f"http://{host}:{port}")
            try:
                await stop.wait()
            finally:
                self._app = self._nursery = None
            nursery.cancel_scope.deadline = trio.current_time() + DRAIN_S

    async def request(self, call: Call) -> Answer:
        """Cancelling it is what a client does that leaves. Raises ConnectionLost."""
        if self._app is None or self._nursery is None:
            await trio.lowlevel.checkpoint()
            raise ConnectionLost(f"nobody serves {call.path}")
        exchange = Exchange(call)
        self._nursery.start_soon(exchange.run, self._app)
        try:
            await exchange.over.wait()
        finally:
            exchange.left.set()
        return exchange.answer()


@attrs.define(eq=False)
class Exchange:
    """One request and its reply, from the server's side."""

    call: Call
    left: trio.Event = attrs.field(factory=trio.Event)
    over: trio.Event = attrs.field(factory=trio.Event)
    _events: list[ASGISendEvent] = attrs.field(factory=list)
    _sent_body: bool = False

    async def run(self, app: ASGIFramework) -> None:
        try:
            await app(scope_of(self.call), self.receive, self.send)
        finally:
            self.over.set()

    async def receive(self) -> ASGIReceiveEvent:
        if not self._sent_body:
            self._sent_body = True
            return {"type": "http.request", "body": self.call.body, "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: ASGISendEvent) -> None:
        await trio.lowlevel.checkpoint()
        self._events.append(event)

    def answer(self) -> Answer:
        """Raises ConnectionLost on half an answer, and AssertionError on more than one."""
        status, headers, body, ended = 0, dict[str, str](), b"", 0
        for event in self._events:
            if event["type"] == "http.response.start":
                assert not status, f"{self.call.path} was answered twice"
                status = event["status"]
                headers = {name.decode(): value.decode() for name, value in event["headers"]}
            elif event["type"] == "http.response.body":
                assert not ended, f"{self.call.path} was answered on after its end"
                body += event["body"]
                ended += not event["more_body"]
        if not ended:
            raise ConnectionLost(f"the server went away during {self.call.path}")
        return Answer(status, headers, body)


def scope_of(call: Call) -> HTTPScope:
    headers = [(name.encode(), value.encode()) for name, value in call.headers.items()]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": call.method,
        "scheme": "http",
        "path": call.path,
        "raw_path": call.path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"in-process"), (b"content-length", b"%d" % len(call.body)), *headers],
        "client": ("client", 1),
        "server": ("server", 80),
        "state": ConnectionState({}),
        "extensions": {},
    }
