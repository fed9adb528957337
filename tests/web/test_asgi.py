"""Hot routes with nothing between do what Quart does with them, over a real socket; and who leaves is told (§8.2)."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import httpx2
import pytest
import trio
import trio.testing
from hypercorn.typing import ASGIFramework, ASGIReceiveEvent, ASGISendEvent, HTTPScope

from sie.testing.cluster.served import Call, scope_of
from sie.web.asgi import LEAVING, with_hot_routes
from sie.web.bodies import json_reply, text_reply
from sie.web.quart import Surface, build_quart
from sie.web.routes import ClientLeft, Headers, Leaving, Reply, Request, Route
from sie.web.server import serve_hypercorn

MOST_BYTES = 100


def allowed(_: Request, headers: Headers) -> Reply:
    return Reply(405, b"", "text/plain", headers)


SURFACE = Surface(
    max_body_bytes=MOST_BYTES,
    not_found=lambda request: text_reply(f"no {request.path}", status=404),
    method_not_allowed=allowed,
    too_large=lambda _, limit: text_reply(f"over {limit}", status=413),
    internal_error=lambda _: text_reply("sorry", status=500),
    headers=(("X-Ours", "1"),),
)


async def echo(request: Request) -> Reply:
    told = {"params": dict(request.params), "body": request.body.decode(), "kind": request.headers.get("content-type")}
    return json_reply(told, headers=(("X-Told", "ü"),))


async def broken(_: Request) -> Reply:
    raise RuntimeError("a secret")


async def never(_: Request) -> Reply:
    raise AssertionError("it is not admitted")


def refused(request: Request) -> Reply | None:
    assert not request.body
    return text_reply("not you", status=403)


ROUTES = (
    Route("POST", "/echo/{rest*}", echo),
    Route("POST", "/broken/{rest*}", broken),
    Route("POST", "/closed/{rest*}", never, refused),
)


def quart_alone() -> ASGIFramework:
    return build_quart("test", ROUTES, SURFACE)


def hot_before_quart() -> ASGIFramework:
    return with_hot_routes(build_quart("test", (Route("GET", "/cold", cold),), SURFACE), ROUTES, SURFACE)


async def cold(_: Request) -> Reply:
    return text_reply("cold")


Build = Callable[[], ASGIFramework]
either = pytest.mark.parametrize("build", [quart_alone, hot_before_quart])


@asynccontextmanager
async def open_client(app: ASGIFramework) -> AsyncIterator[httpx2.AsyncClient]:
    stop = trio.Event()
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            url: str = await nursery.start(partial(serve_hypercorn, app, host="127.0.0.1", port=0, stop=stop))
            async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:
                yield client
            stop.set()


async def in_pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@either
async def test_a_request_and_its_reply_are_whole(build: Build) -> None:
    async with open_client(build()) as client:
        reply = await client.post("/echo/a//b/c%20d:e", content=b"x" * MOST_BYTES, headers={"Content-Type": "a/b"})
        pieces = await client.post("/echo/a", content=in_pieces(b"one ", b"two"))
    assert reply.json() == {"params": {"rest": "a//b/c d:e"}, "body": "x" * MOST_BYTES, "kind": "a/b"}
    assert (reply.headers["x-ours"], reply.headers["content-type"]) == ("1", "application/json")
    assert int(reply.headers["content-length"]) == len(reply.content)
    assert pieces.json()["body"] == "one two"


@either
async def test_a_body_over_the_limit_is_413_told_or_in_pieces(build: Build) -> None:
    async with open_client(build()) as client:
        told = await client.post("/echo/a", content=b"x" * (MOST_BYTES + 1))
        pieces = await client.post("/echo/a", content=in_pieces(b"x" * MOST_BYTES, b"y"))
        after = await client.post("/echo/a", content=b"z")
    assert [(reply.status_code, reply.text) for reply in (told, pieces)] == [(413, f"over {MOST_BYTES}")] * 2
    assert after.json()["body"] == "z"


@either
async def test_who_is_not_admitted_is_told_before_the_body_is_read(build: Build) -> None:
    async with open_client(build()) as client:
        reply = await client.post("/closed/a", content=b"x" * (MOST_BYTES + 1))
    assert (reply.status_code, reply.text, reply.headers["x-ours"]) == (403, "not you", "1")


@either
async def test_a_failing_handler_is_500_in_static_words(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    async with open_client(build()) as client:
        with caplog.at_level(logging.CRITICAL):
            reply = await client.post("/broken/a")
    assert (reply.status_code, reply.text, reply.headers["x-ours"]) == (500, "sorry", "1")


@either
async def test_other_methods_and_paths_are_the_tables(build: Build) -> None:
    async with open_client(build()) as client:
        assert (await client.post("/nothing/here")).status_code == 404
        assert (await client.post("/echo/")).status_code == 404


async def test_all_else_is_the_other_applications() -> None:
    async with open_client(hot_before_quart()) as client:
        assert (await client.get("/cold")).text == "cold"


def test_a_route_that_takes_no_rest_of_a_path_cannot_be_hot() -> None:
    with pytest.raises(ValueError, match="/one"):
        with_hot_routes(quart_alone(), [Route("POST", "/one/{name}", echo)], SURFACE)


class Talk:
    """One exchange in place. Its client leaves once `leave` is set, if the application asks for it."""

    def __init__(self) -> None:
        self.leave = trio.Event()
        self.sent: list[ASGISendEvent] = []
        self._is_read = False

    async def receive(self) -> ASGIReceiveEvent:
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: ASGISendEvent) -> None:
        await trio.lowlevel.checkpoint()
        self.sent.append(event)


def scope(leaving: Leaving | None = None) -> HTTPScope:
    plain = scope_of(Call("POST", "/wait/a"))
    return {**plain, "extensions": {LEAVING: leaving}}  # type: ignore[dict-item]  # an extension of ours


def waiting_for(woken: trio.Event, *, listens: bool) -> Callable[[Request], Awaitable[Reply]]:
    """A handler that waits for ever, and tells how that ended."""

    async def wait(request: Request) -> Reply:
        left = trio.Event()
        if listens and request.leaving is not None:
            request.leaving.listen(left.set)
        try:
            await left.wait()
        finally:
            woken.set()
        raise ClientLeft

    return wait


@pytest.mark.parametrize("listens", [True, False])
async def test_a_client_that_leaves_ends_its_handler_and_gets_no_reply(listens: bool) -> None:
    talk, woken = Talk(), trio.Event()
    route = Route("POST", "/wait/{rest*}", waiting_for(woken, listens=listens))
    app = with_hot_routes(quart_alone(), [route], SURFACE)
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(app, scope(), talk.receive, talk.send)
            await trio.testing.wait_all_tasks_blocked()
            assert not woken.is_set()
            talk.leave.set()
    assert woken.is_set()
    assert not talk.sent


async def test_a_server_may_tell_who_leaves_without_being_asked() -> None:
    talk, woken, leaving = Talk(), trio.Event(), Leaving()
    app = with_hot_routes(quart_alone(), [Route("POST", "/wait/{rest*}", waiting_for(woken, listens=True))], SURFACE)
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(app, scope(leaving), talk.receive, talk.send)
            await trio.testing.wait_all_tasks_blocked()
            leaving.gone()
    assert not talk.sent


def test_who_listens_too_late_is_called_at_once() -> None:
    leaving, calls = Leaving(), list[str]()
    leaving.gone()
    leaving.gone()
    leaving.listen(lambda: calls.append("late"))
    assert calls == ["late"]


async def test_a_client_that_leaves_in_the_middle_of_its_body_gets_no_reply() -> None:
    sent: list[ASGISendEvent] = []
    events: list[ASGIReceiveEvent] = [
        {"type": "http.request", "body": b"half", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> ASGIReceiveEvent:
        await trio.lowlevel.checkpoint()
        return events.pop(0)

    async def send(event: ASGISendEvent) -> None:
        sent.append(event)

    await with_hot_routes(quart_alone(), ROUTES, SURFACE)(scope_of(Call("POST", "/echo/a")), receive, send)
    assert not sent


async def test_a_header_that_would_begin_another_is_never_sent() -> None:
    talk = Talk()

    async def odd(_: Request) -> Reply:
        return Reply(200, b"", "text/plain", (("X-A", "a\r\nX-B: b"),))

    app = with_hot_routes(quart_alone(), [Route("POST", "/wait/{rest*}", odd)], SURFACE)
    with pytest.raises(ValueError, match="X-B"):
        await app(scope(), talk.receive, talk.send)
    assert not talk.sent
