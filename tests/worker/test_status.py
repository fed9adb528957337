"""What a worker tells whoever asks it itself (wire-facts 1.11), from its start to its end, on a clock that jumps."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.domain.worker import HEARTBEAT_INTERVAL_S, WorkerStatus
from sie.web.routes import Reply, Request, Route, SocketRoute
from sie.wire.heartbeat import decode_heartbeat
from sie.wire.ipc import EncodeBatch, Finished, LoadModel
from sie.worker.core.flights import MAX_BATCHES
from sie.worker.http.serving import Endpoint, told
from sie.worker.http.status import FRAME_S, Views
from tests.worker.doubles import MODEL, WORKER, Peer, delivery, work
from tests.worker.stage import ScriptedAuthority, ScriptedPools, until, worker

PREPARED = 5.0


@attrs.define(eq=False)
class Site:
    """The endpoint without a network: its routes are called, and its socket's frames kept."""

    routes: Mapping[str, Route] = attrs.field(factory=dict)
    sockets: Mapping[str, SocketRoute] = attrs.field(factory=dict)
    ended: trio.Event = attrs.field(factory=trio.Event)
    frames: list[tuple[float, str]] = attrs.field(factory=list)

    async def serve(
        self,
        routes: Iterable[Route],
        sockets: Iterable[SocketRoute],
        *,
        host: str,
        port: int,
        stop: trio.Event,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        assert (host, port) == ("0.0.0.0", 8080)
        self.routes = {route.pattern: route for route in routes}
        self.sockets = {route.pattern: route for route in sockets}
        task_status.started("http://worker:8080")
        await stop.wait()
        self.ended.set()

    async def get(self, path: str) -> Reply:
        with trio.fail_after(PREPARED):
            while path not in self.routes:  # noqa: ASYNC110 - the clock jumps
                await trio.sleep(0.01)
        reply = await self.routes[path].handler(Request("GET", path, {}, {}))
        assert isinstance(reply, Reply)
        return reply

    async def says(self, path: str) -> tuple[int, str]:
        reply = await self.get(path)
        return reply.status, reply.body.decode()

    async def status(self) -> Mapping[str, dict[str, object]]:
        told: Mapping[str, dict[str, object]] = json.loads((await self.get("/status")).body)
        return told

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[trio.Event]:
        """The event: the connection was ended by the worker."""
        closed = trio.Event()

        async def keep(text: str) -> None:
            self.frames.append((trio.current_time(), text))
            await trio.lowlevel.checkpoint()

        async def watch() -> None:
            await self.sockets["/ws/status"].handler(Request("GET", "/ws/status", {}, {}), keep)
            closed.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            yield closed
            nursery.cancel_scope.cancel()

    def last(self) -> WorkerStatus:
        return decode_heartbeat(self.frames[-1][1].encode())


async def load_slowly(peer: Peer) -> None:
    """A hundred seconds each."""
    await trio.sleep(10)
    await peer.greet()
    while isinstance(request := await peer.hear(), LoadModel):
        await trio.sleep(100)
        await peer.say(Finished(id=request.id))


async def die_at_the_first_batch(peer: Peer) -> None:
    await peer.greet()
    while isinstance(request := await peer.hear(), LoadModel):
        await peer.say(Finished(id=request.id))


async def take(seconds: float, peer: Peer) -> None:
    async def on_batch(batch: EncodeBatch) -> None:
        assert batch.items
        await trio.sleep(seconds)

    await peer.serve(on_batch)


async def test_readiness_waits_for_what_is_preloaded_and_warm_up_does_not_block_liveness(
    autojump_clock: MockClock,
) -> None:
    """Expectation 18."""
    site = Site()
    async with worker(
        load_slowly, preload=(MODEL,), authority=ScriptedAuthority(failures=2), serve_status=site.serve
    ) as stage:
        reasons, alive = list[str](), True
        while (said := await site.says("/readyz"))[0] != 200:
            assert said[0] == 503
            reasons += [said[1]] if said[1] not in reasons else []
            alive = alive and await site.says("/healthz") == (200, "ok")
            await trio.sleep(0.05)
        assert reasons == [
            "the configuration has not been read",
            "the backend is not up",
            "models that are to be preloaded are not loaded",
        ]
        assert alive
        assert trio.current_time() > 100
        assert len(stage.bus.heartbeats()) >= 100 / HEARTBEAT_INTERVAL_S
        await stage.until_ready()
        stage.bus.drop()
        assert await site.says("/readyz") == (503, "there is no connection to the broker")
        assert await site.says("/healthz") == (200, "ok")


async def test_a_worker_that_drains_is_not_ready_and_alive_to_the_end(autojump_clock: MockClock) -> None:
    site = Site()
    async with worker(partial(take, 5), preload=(MODEL,), serve_status=site.serve) as stage:
        await stage.until_ready()
        stage.queue.put(delivery(work()))
        await trio.sleep(0.1)
        async with site.watched() as closed:
            stage.stop.set()
            await trio.sleep(FRAME_S + 0.1)
            assert await site.says("/readyz") == (503, "draining")
            assert await site.says("/healthz") == (200, "ok")
            assert site.last().draining
            assert (await site.status())["work"]["running"] == 1
            await closed.wait()
        assert site.last().draining
        assert site.ended.is_set()
        await stage.ended.wait()
        assert len(stage.bus.results()) == 1


async def test_a_watcher_is_told_every_fifth_of_a_second_what_a_heartbeat_says(autojump_clock: MockClock) -> None:
    site = Site()
    async with worker(preload=(MODEL,), serve_status=site.serve) as stage:
        await stage.until_ready()
        async with site.watched():
            await trio.sleep(10)
        gaps = [later - sooner for (sooner, _), (later, _) in zip(site.frames, site.frames[1:], strict=False)]
        assert len(site.frames) in (50, 51)
        assert max(gaps) <= FRAME_S * 1.01
        told, beat = site.last(), stage.status()
        assert (told.worker, told.lane, told.models, told.ready) == (WORKER, beat.lane, beat.models, True)
        assert told.bundle_config_hash == beat.bundle_config_hash
        frame = json.loads(site.frames[-1][1])
        assert frame["loaded_models"] == [MODEL]
        assert {row["queue_depth"] for row in frame["models"]} == {0}
        assert set(frame["server"]) == {"version", "uptime_seconds", "pid"}


async def test_the_status_tells_work_backend_and_pools(autojump_clock: MockClock) -> None:
    site = Site()
    scripts = (die_at_the_first_batch, partial(take, 10))
    async with worker(*scripts, preload=(MODEL,), pools=ScriptedPools(), serve_status=site.serve) as stage:
        await stage.until_ready()
        first = await site.status()
        assert first["backend"] == {"device": "cpu", "up": [0], "deaths": 0, "last_failure": None}
        stage.queue.put(*(delivery(work(n, text="x" * 400), n + 1) for n in range(50)))
        await until(lambda: stage.launch.launched == 2)
        await trio.sleep(1)
        told = await site.status()
        assert (await site.says("/readyz"))[0] == 200
        assert told["backend"]["deaths"] == 1
        assert told["backend"]["last_failure"] == "it closed its socket"
        counts = told["work"]
        waiting, running = counts["waiting"], counts["running"]
        assert isinstance(waiting, int)
        assert isinstance(running, int)
        assert min(waiting, running) > 0
        assert waiting + running == 50
        assert counts["batches_in_flight"] == MAX_BATCHES
        assert told["gate"]["may_pull"] is True
        assert told["gate"]["pools"] == []
        rows = json.loads((await site.get("/status")).body)["models"]
        assert {row["name"]: row["queue_depth"] for row in rows if row["queue_depth"]} == {MODEL: waiting}


async def test_a_port_that_is_taken_ends_the_worker_and_is_named(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async def taken(*_: object, **__: object) -> None:
        await trio.lowlevel.checkpoint()
        raise OSError("address already in use")

    with pytest.raises(ExceptionGroup) as failed:
        async with worker(serve_status=taken) as stage:
            await stage.ended.wait()
    assert failed.group_contains(OSError, match="address already in use")
    assert [(record.message, record.__dict__["error"]) for record in caplog.records if hasattr(record, "port")] == [
        ("the worker's status cannot be told", "address already in use")
    ]


async def test_without_a_port_nobody_can_ask(autojump_clock: MockClock) -> None:
    site = Site()
    views = Views(lambda: None, dict, dict)
    async with told(views, None):
        await trio.sleep(1)
        assert not site.routes
    async with told(views, Endpoint(site.serve, "0.0.0.0", 8080)):
        assert await site.says("/readyz") == (200, "ok")
    assert site.ended.is_set()
