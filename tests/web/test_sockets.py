"""A WebSocket of the route table over a real socket: the handshake, its refusals, and clients that leave or talk."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import attrs
import trio
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, RejectConnection, TextMessage
from wsproto.events import Request as Handshake

from sie.web.bodies import json_reply, text_reply
from sie.web.quart import Surface, build_quart
from sie.web.routes import Reply, Request, Send, SocketRoute
from sie.web.server import serve_hypercorn

SURFACE = Surface(
    max_body_bytes=100,
    not_found=lambda r: text_reply(f"no {r.path}", status=404),
    method_not_allowed=lambda _, __: text_reply("no", status=405),
    too_large=lambda _, __: text_reply("over", status=413),
    internal_error=lambda _: text_reply("sorry", status=500),
)


@attrs.define(eq=False)
class Client:
    stream: trio.SocketStream
    connection: WSConnection = attrs.field(factory=lambda: WSConnection(ConnectionType.CLIENT), init=False)
    events: list[Event] = attrs.field(factory=list, init=False)

    async def say(self, event: Event) -> None:
        await self.stream.send_all(self.connection.send(event))

    async def next(self) -> Event:
        while not self.events:
            self.connection.receive_data(bytes(await self.stream.receive_some()) or None)
            self.events += self.connection.events()
        return self.events.pop(0)

    async def text(self) -> str:
        event = await self.next()
        assert isinstance(event, TextMessage)
        return event.data


@asynccontextmanager
async def served(
    handler: Callable[[Request, Send], Awaitable[None]], *, unread_s: float = 20.0
) -> AsyncIterator[Callable[[str], Awaitable[Client]]]:
    """A function that connects and sends the handshake for a path."""

    def admit(request: Request) -> Reply | None:
        return json_reply({"no": True}, status=401) if "closed" in request.path else None

    stop, sockets = trio.Event(), (SocketRoute("/open/{name}", handler), SocketRoute("/closed", handler, admit))
    app = build_quart("test", (), SURFACE, sockets)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery, AsyncExitStack() as streams:

            async def serve(task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED) -> None:
                await serve_hypercorn(
                    app, host="127.0.0.1", port=0, stop=stop, unread_s=unread_s, task_status=task_status
                )

            url: str = await nursery.start(serve)

            async def connect(path: str) -> Client:
                stream = await trio.open_tcp_stream("127.0.0.1", int(url.rpartition(":")[2]))
                client = Client(await streams.enter_async_context(stream))
                await client.say(Handshake(host="test", target=path))
                return client

            yield connect
            stop.set()


async def test_a_handler_tells_until_it_returns() -> None:
    async def tell(request: Request, send: Send) -> None:
        await send(f"hello {request.params['name']}")
        await send("bye")

    async with served(tell) as connect:
        client = await connect("/open/you")
        assert isinstance(await client.next(), AcceptConnection)
        assert [await client.text(), await client.text()] == ["hello you", "bye"]
        closed = await client.next()
        assert isinstance(closed, CloseConnection)
        assert closed.code == 1000


async def test_a_refusal_is_answered_instead_of_the_handshake_and_an_unknown_path_too() -> None:
    async def tell(_: Request, __: Send) -> None:
        raise AssertionError("nobody is let in")

    async with served(tell) as connect:
        for path, status in (("/closed", 401), ("/nowhere", 404)):
            refused = await (await connect(path)).next()
            assert isinstance(refused, RejectConnection)
            assert refused.status_code == status


async def test_a_client_that_talks_and_leaves_ends_its_handler() -> None:
    """More than any queue between us holds, so that its leaving is heard only if its talk is taken."""
    left = trio.Event()

    async def tell(_: Request, send: Send) -> None:
        await send("hello")
        try:
            await trio.sleep_forever()
        finally:
            left.set()

    async with served(tell) as connect:
        client = await connect("/open/you")
        assert isinstance(await client.next(), AcceptConnection)
        await client.text()
        for _ in range(100):
            await client.say(TextMessage(data="blah"))
        await client.stream.aclose()
        await left.wait()


async def test_a_client_that_takes_in_nothing_is_cut_off() -> None:
    ended = trio.Event()

    async def tell(_: Request, send: Send) -> None:
        try:
            while True:
                await send("x" * 1_000_000)
                await trio.lowlevel.checkpoint()
        finally:
            ended.set()

    async with served(tell, unread_s=0.2) as connect:
        await connect("/open/you")
        await ended.wait()
