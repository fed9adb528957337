"""A whole worker between a real nats-server and a real backend process (§8.2): every item ends in one correct reply."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio

from sie.authority.client import Authority
from sie.bus.api import Bus, Message
from sie.bus.jetstream import call_api
from sie.bus.nats import open_bus
from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName, ModelId
from sie.domain.subjects import HEALTH_ALL, work_subject
from sie.domain.worker import WorkerStatus
from sie.runtime.world import real_machine
from sie.testing.nats_server import NatsServer, open_nats_server
from sie.wire.codec import unpack
from sie.wire.configs_api import EpochReply, ExportReply, ExportRow
from sie.wire.heartbeat import decode_heartbeat
from sie.wire.ipc import Hello
from sie.wire.ndarray import array_from_wire
from sie.wire.result import WorkResult, decode_result
from sie.wire.work import encode_work
from sie.worker.app import World, run
from sie.worker.children import Child, Report
from sie.worker.consume.source import JetStreamSource
from sie.worker.core.state import ChildEvent
from sie.worker.settings import WorkerSettings
from tests.backend.scripted_adapter import PATH
from tests.worker.doubles import LANE, MODEL, WORKER, work
from tests.worker.real_child import is_alive, open_real_child
from tests.worker.stage import until

pytestmark = [pytest.mark.system]

LIMIT_S = 60.0
CONFIG = {
    "sie_id": MODEL,
    "tasks": {"encode": {"dense": {"dim": 2}}},
    "profiles": {"default": {"adapter_path": PATH, "max_batch_tokens": 64}},
}


class OneModel:
    async def read_epoch(self) -> EpochReply:
        return EpochReply(epoch=1)

    async def read_bundles(self) -> tuple[Bundle, ...]:
        return (Bundle(BundleName("default"), (PATH.partition(":")[0],)),)

    async def read_export(self) -> ExportReply:
        return ExportReply(epoch=1, models=(ExportRow(model_id=MODEL, model_config=CONFIG),))


@attrs.define(eq=False)
class Gateway:
    """Publishes work and hears what comes back."""

    bus: Bus
    results: list[WorkResult] = attrs.field(factory=list)
    beats: list[WorkerStatus] = attrs.field(factory=list)

    def hear_result(self, message: Message) -> None:
        self.results.append(decode_result(message.data))

    def hear_beat(self, message: Message) -> None:
        self.beats.append(decode_heartbeat(message.data))

    def ask(self, *texts: str) -> None:
        for number, text in enumerate(texts):
            item = attrs.evolve(work(number, text=text), reply_subject=f"{self.bus.inbox}.r1", bundle_config_hash="")
            self.bus.publish_nowait(work_subject(LANE, ModelId(MODEL)), encode_work(item))

    async def until_ready(self) -> None:
        await until(lambda: bool(self.beats) and self.beats[-1].ready)

    async def until_stream_is_empty(self) -> None:
        while True:
            state = (await call_api(self.bus, "STREAM.INFO.WORK_POOL_default"))["state"]
            assert isinstance(state, dict)
            if not state["messages"]:
                return
            await trio.sleep(0.05)

    def lengths(self) -> list[float]:
        """By item: what the scripted adapter says of its text."""
        ordered = sorted(self.results, key=lambda result: result.item_index)
        return [length_of(result) for result in ordered]


def length_of(result: WorkResult) -> float:
    assert result.result_msgpack is not None, result
    blob = unpack(result.result_msgpack)
    assert isinstance(blob, dict)
    return float(array_from_wire(blob["dense"]["values"]).tolist()[0])


@attrs.define(eq=False)
class Cluster:
    server: NatsServer
    gateway: Gateway
    stop: trio.Event
    pids: list[int]
    ended: trio.Event


@asynccontextmanager
async def open_one_model(url: str, token: str | None) -> AsyncIterator[Authority]:
    assert url
    assert token is None
    yield OneModel()


@asynccontextmanager
async def cluster(folder: Path) -> AsyncIterator[Cluster]:
    stop, pids, ended = trio.Event(), list[int](), trio.Event()

    def open_noting(report: Report) -> AbstractAsyncContextManager[Child]:
        def noting(event: ChildEvent) -> None:
            if isinstance(event, Hello):
                pids.append(event.pid)
            report(event)

        return open_real_child(noting)

    world = World(real_machine(stop), open_bus, open_one_model, open_noting, JetStreamSource)
    with trio.fail_after(LIMIT_S):
        async with (
            open_nats_server(store_dir=folder) as server,
            open_bus(server.url, inbox="_INBOX.gw-1", name="gateway") as bus,
            trio.open_nursery() as nursery,
        ):
            gateway = Gateway(bus)
            bus.on_inbox(gateway.hear_result)
            settings = WorkerSettings(nats_url=server.url, worker_id=WORKER, preload=(MODEL,), stream_storage="file")

            async def work_until_stopped() -> None:
                await run(settings, world)
                ended.set()

            async with bus.subscribe(HEALTH_ALL, gateway.hear_beat):
                nursery.start_soon(work_until_stopped)
                await gateway.until_ready()
                yield Cluster(server, gateway, stop, pids, ended)
                stop.set()
                await ended.wait()


async def test_many_items_are_answered_once_each_and_leave_the_queue(tmp_path: Path) -> None:
    async with cluster(tmp_path) as at:
        at.gateway.ask(*("x" * n for n in range(500)))
        await until(lambda: len(at.gateway.results) == 500)
        await at.gateway.until_stream_is_empty()
        assert at.gateway.lengths() == [float(n) for n in range(500)]


async def test_a_backend_killed_during_a_request_still_ends_in_one_correct_reply_an_item(tmp_path: Path) -> None:
    async with cluster(tmp_path) as at:
        at.gateway.ask("sleep 0.7", *("x" * n for n in range(50)))
        await trio.sleep(0.3)
        os.kill(at.pids[0], signal.SIGKILL)
        await until(lambda: len(at.gateway.results) >= 51)
        await at.gateway.until_stream_is_empty()
        await trio.sleep(0.5)
        assert at.gateway.lengths() == [9.0, *(float(n) for n in range(50))]
        assert len(at.pids) == 2


async def test_a_broker_that_was_killed_is_found_again_and_work_goes_on(tmp_path: Path) -> None:
    async with cluster(tmp_path) as at:
        await at.server.restart()
        await until(lambda: at.gateway.bus.session > 1)
        at.gateway.ask("a", "bb")
        await until(lambda: len(at.gateway.results) == 2)
        assert at.gateway.lengths() == [1.0, 2.0]


async def test_a_result_that_came_while_the_broker_was_gone_comes_after_all(tmp_path: Path) -> None:
    async with cluster(tmp_path) as at:
        at.gateway.ask("sleep 0.5")
        await trio.sleep(0.2)
        await at.server.kill()
        await until(lambda: not at.gateway.bus.session)
        await trio.sleep(0.6)
        await at.server.start()
        await until(lambda: len(at.gateway.results) == 1)
        assert at.gateway.lengths() == [9.0]


async def test_a_stopped_worker_gives_back_what_it_did_not_do_and_leaves_no_process(tmp_path: Path) -> None:
    async with cluster(tmp_path) as at:
        at.gateway.ask(*[f"sleep 0.1{' ' * 400}"] * 100)  # two fill a batch
        await until(lambda: bool(at.gateway.results))
        at.stop.set()
        await at.ended.wait()
        assert at.gateway.beats[-1].draining
        assert not any(map(is_alive, at.pids))
        answered = len(at.gateway.results)
        assert 0 < answered < 100
        state = (await call_api(at.gateway.bus, "STREAM.INFO.WORK_POOL_default"))["state"]
        assert isinstance(state, dict)
        assert state["messages"] == 100 - answered
