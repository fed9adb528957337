"""A worker's process that is told to end (expectation 19), between a real nats-server and a real backend process."""

import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import httpx2
import pytest
import trio

from sie.bus.api import Bus, Message
from sie.bus.jetstream import open_puller
from sie.bus.nats import open_bus
from sie.bus.streams import held_messages, stream_names
from sie.domain.ids import ModelId
from sie.domain.subjects import HEALTH_ALL, direct_subject, lane_consumer, work_stream, work_subject, worker_stream
from sie.domain.worker import WorkerStatus
from sie.testing.nats_server import free_port, open_nats_server
from sie.wire.heartbeat import decode_heartbeat
from sie.wire.result import WorkResult, decode_result
from sie.wire.work import encode_work
from tests.worker.doubles import LANE, MODEL, WORKER, work
from tests.worker.real_child import environment

pytestmark = [pytest.mark.system]

LIMIT_S = 50.0
STREAM = work_stream(LANE.pool)
POOL, BY_NAME = work_subject(LANE, ModelId(MODEL)), direct_subject(LANE, ModelId(MODEL), WORKER)
ENDED_AT_ONCE = 128 + signal.SIGTERM


@attrs.define(eq=False)
class Run:
    bus: Bus
    process: trio.Process
    client: httpx2.AsyncClient
    results: list[WorkResult] = attrs.field(factory=list)
    beats: list[tuple[float, WorkerStatus]] = attrs.field(factory=list)

    def hear(self, message: Message) -> None:
        self.results.append(decode_result(message.data))

    def hear_beat(self, message: Message) -> None:
        self.beats.append((trio.current_time(), decode_heartbeat(message.data)))

    def ask(self, *texts: str, subject: str = POOL) -> None:
        """Long enough that a few fill a batch."""
        for number, text in enumerate(texts):
            item = attrs.evolve(
                work(number, text=f"{text}{' ' * 400}"),
                reply_subject=f"{self.bus.inbox}.r1",
                bundle_config_hash="",
                deadline=None,
            )
            self.bus.publish_nowait(subject, encode_work(item))

    async def readiness(self) -> str:
        try:
            return (await self.client.get("/readyz")).text
        except httpx2.TransportError:
            return "nobody there"

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():  # noqa: ASYNC110 - another process is waited for
            await trio.sleep(0.01)

    async def until_running(self) -> None:
        while not (await self.client.get("/status")).json()["work"]["running"]:  # noqa: ASYNC110 - as above
            await trio.sleep(0.02)


@asynccontextmanager
async def worker_process(folder: Path, grace_s: float) -> AsyncIterator[Run]:
    """Ready, and killed at the end of the block if it still runs."""
    port = free_port()
    with trio.fail_after(LIMIT_S):
        async with (
            open_nats_server(store_dir=folder) as server,
            open_bus(server.url, inbox="_INBOX.gw-1", name="gateway") as bus,
            httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
        ):
            settings = {
                "SIE_NATS_URL": server.url,
                "SIE_WORKER_ID": WORKER,
                "SIE_WORKER_HOST": "127.0.0.1",
                "SIE_WORKER_PORT": str(port),
                "SIE_PRELOAD": MODEL,
                "SIE_DRAIN_GRACE_S": str(grace_s),
            }
            command = (sys.executable, "-P", "-m", "tests.worker.worker_process")
            process = await trio.lowlevel.open_process(command, env={**environment(), **settings})
            try:
                running = Run(bus, process, client)
                bus.on_inbox(running.hear)
                async with bus.subscribe(HEALTH_ALL, running.hear_beat):
                    while await running.readiness() != "ok":  # noqa: ASYNC110 - as above
                        await trio.sleep(0.05)
                    yield running
            finally:
                if process.poll() is None:
                    process.kill()


@pytest.mark.parametrize("subject", [POOL, BY_NAME], ids=["of the lane", "by name"])
async def test_sigterm_finishes_what_is_in_flight_gives_the_rest_to_others_and_ends(
    tmp_path: Path, subject: str
) -> None:
    async with worker_process(tmp_path, grace_s=20) as at:
        at.ask(*["sleep 0.5"] * 40, subject=subject)
        await at.until_running()
        told_s = trio.current_time()
        at.process.terminate()
        async with open_puller(at.bus, stream=STREAM, consumer=lane_consumer(LANE), capacity=64) as puller:
            given = [await puller.receive()]
            given_s = trio.current_time() - told_s
            await at.until(lambda: at.beats[-1][1].draining)
            goodbye_s = at.beats[-1][0] - told_s
            assert await at.readiness() == "draining"
            assert await at.process.wait() == 0
            ended_s = trio.current_time() - told_s
            while len(given) + len(at.results) < 40:
                given.append(await puller.receive())
        items = [result.item_index for result in at.results]
        assert 0 < len(items) == len(set(items)) < 20
        print(f"given back after {given_s * 1000:.0f} ms, goodbye {goodbye_s * 1000:.0f} ms, ended {ended_s:.2f} s")
        assert max(given_s, goodbye_s) < 1
        assert ended_s < 10
        assert await held_messages(at.bus, STREAM) == len(given)
        assert await stream_names(at.bus) == (STREAM,)


async def test_what_outlasts_the_grace_goes_back_and_the_process_ends_within_a_bound(tmp_path: Path) -> None:
    async with worker_process(tmp_path, grace_s=1) as at:
        at.ask("sleep 40")
        await at.until_running()
        told_s = trio.current_time()
        at.process.terminate()
        async with open_puller(at.bus, stream=STREAM, consumer=lane_consumer(LANE), capacity=1) as puller:
            await puller.receive()
            assert 1 <= trio.current_time() - told_s < 2
            assert await at.process.wait() == 0
            assert trio.current_time() - told_s < 8
        assert worker_stream(WORKER) not in await stream_names(at.bus)


async def test_a_second_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    async with worker_process(tmp_path, grace_s=30) as at:
        at.ask("sleep 40")
        await at.until_running()
        at.process.terminate()
        await at.until(lambda: at.beats[-1][1].draining)
        told_s = trio.current_time()
        at.process.terminate()
        assert await at.process.wait() == ENDED_AT_ONCE
        assert trio.current_time() - told_s < 1
