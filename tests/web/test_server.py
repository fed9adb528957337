"""A route table served over a real socket: patterns, faults, stopping while a request is in flight."""

import logging

import httpx2
import pytest
import trio
import trio.testing

from sie.web.bodies import json_reply, text_reply
from sie.web.quart import Surface, build_quart
from sie.web.routes import Headers, Reply, Request, Route
from sie.web.server import DRAIN_S, serve_hypercorn


async def echo(request: Request) -> Reply:
    return json_reply({"params": dict(request.params), "body": request.body.decode(), "method": request.method})


async def broken(_: Request) -> Reply:
    raise RuntimeError("a secret")


def allowed(_: Request, headers: Headers) -> Reply:
    return Reply(405, b"", "text/plain", headers)


SURFACE = Surface(
    max_body_bytes=100,
    not_found=lambda r: text_reply(f"no {r.path}", status=404),
    method_not_allowed=allowed,
    too_large=lambda _, limit: text_reply(f"over {limit}", status=413),
    internal_error=lambda _: text_reply("sorry", status=500),
    headers=(("X-Ours", "1"),),
)


async def test_routes_faults_and_a_stop_in_mid_request(caplog: pytest.LogCaptureFixture) -> None:
    stop, entered, release = trio.Event(), trio.Event(), trio.Event()

    async def slow(_: Request) -> Reply:
        entered.set()
        await release.wait()
        return text_reply("done")

    routes = (
        Route("POST", "/one/{name}", echo),
        Route("POST", "/rest/{name*}", echo),
        Route("GET", "/slow", slow),
        Route("GET", "/broken", broken),
    )
    app = build_quart("test", routes, SURFACE)
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:

            async def serve(task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED) -> None:
                await serve_hypercorn(app, host="127.0.0.1", port=0, stop=stop, task_status=task_status)

            url: str = await nursery.start(serve)
            async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:
                one = (await client.post("/one/a%20b", content=b"x")).json()
                rest = (await client.post("/rest/a//b/c:d")).json()
                assert (one["params"], one["body"]) == ({"name": "a b"}, "x")
                assert rest["params"] == {"name": "a//b/c:d"}
                assert (await client.post("/one/a/b")).text == "no /one/a/b"
                assert (await client.get("/one/a")).headers["allow"] == "POST"
                assert (await client.post("/one/a", content=b"x" * 101)).text == "over 100"
                with caplog.at_level(logging.CRITICAL, logger="sie.web.quart"):
                    fault = await client.get("/broken")
                assert (fault.status_code, fault.text, fault.headers["x-ours"]) == (500, "sorry", "1")
                async with trio.open_nursery() as inner:
                    inner.start_soon(_expect_done, client)
                    await entered.wait()
                    stop.set()
                    release.set()


async def test_a_connection_that_is_kept_for_later_does_not_hold_up_the_stop() -> None:
    stop, ended = trio.Event(), trio.Event()
    app = build_quart("test", (Route("POST", "/one/{name}", echo),), SURFACE)

    async def serve(task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED) -> None:
        await serve_hypercorn(app, host="127.0.0.1", port=0, stop=stop, task_status=task_status)
        ended.set()

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            url: str = await nursery.start(serve)
            async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:
                for _ in range(3):
                    assert (await client.post("/one/a", content=b"x")).status_code == 200
                await trio.testing.wait_all_tasks_blocked(0.05)
                stop.set()
                with trio.fail_after(DRAIN_S / 2):
                    await ended.wait()


async def _expect_done(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/slow")).text == "done"
