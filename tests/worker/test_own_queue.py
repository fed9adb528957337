"""A worker's own queue at a broker (§8.2), a real nats-server and the double of it: made, used, and made anew."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import attrs
import pytest
import trio

from sie.bus.api import Bus, Message
from sie.bus.jetstream import ApiError, call_api
from sie.domain.ids import ModelId, RequestId, RouterId
from sie.domain.subjects import (
    direct_subject,
    lane_consumer,
    work_cancel_subject,
    work_stream,
    work_subject,
    worker_consumer,
    worker_stream,
)
from sie.wire.cancel import WorkCancel, encode_cancel
from sie.wire.result import WorkResult, decode_result
from sie.wire.work import WorkItem, encode_work
from sie.worker.app import run
from sie.worker.consume.source import JetStreamSource
from sie.worker.settings import WorkerSettings
from tests.bus.either import KINDS, Either, Kind, open_either
from tests.worker.doubles import LANE, MODEL, WORKER, ScriptedBus, ScriptedLaunch, ScriptedQueue, serve, work
from tests.worker.stage import ScriptedAuthority, ScriptedPools, Stage, world_of

pytestmark = [pytest.mark.system]

LIMIT_S = 40.0
POOL, OWN = work_subject(LANE, ModelId(MODEL)), direct_subject(LANE, ModelId(MODEL), WORKER)
QUEUES = ((work_stream(LANE.pool), lane_consumer(LANE)), (worker_stream(WORKER), worker_consumer(WORKER)))


@attrs.define(eq=False)
class Gateway:
    bus: Bus
    results: dict[str, WorkResult] = attrs.field(factory=dict)
    changed: trio.Event = attrs.field(factory=trio.Event)

    def hear(self, message: Message) -> None:
        result = decode_result(message.data)
        assert result.work_item_id not in self.results
        self.results[result.work_item_id] = result
        self.changed.set()

    def ask(self, subject: str, item: WorkItem) -> None:
        self.bus.publish_nowait(subject, encode_work(attrs.evolve(item, reply_subject=f"{self.bus.inbox}.r1")))

    async def result(self, name: str) -> WorkResult:
        while name not in self.results:
            await self.changed.wait()
            self.changed = trio.Event()
        return self.results[name]

    async def until_pulled_from(self) -> None:
        """Both consumers are there, and asked for work."""
        for stream, consumer in QUEUES:
            await until_so(partial(self._is_pulled, f"CONSUMER.INFO.{stream}.{consumer}"))

    async def until_empty(self) -> None:
        for stream, _ in QUEUES:
            await until_so(partial(self._is_empty, stream))

    async def _is_pulled(self, call: str) -> bool:
        try:
            return bool((await call_api(self.bus, call))["num_waiting"])
        except ApiError:
            return False

    async def _is_empty(self, stream: str) -> bool:
        state = (await call_api(self.bus, f"STREAM.INFO.{stream}"))["state"]
        assert isinstance(state, dict)
        return not state["messages"]


async def until_so(is_so: Callable[[], Awaitable[bool]]) -> None:
    while not await is_so():  # noqa: ASYNC110 - the broker is asked
        await trio.sleep(0.05)


@asynccontextmanager
async def working(kind: Kind, folder: Path) -> AsyncIterator[tuple[Either, Gateway]]:
    stage = Stage(trio.Event(), ScriptedBus(), ScriptedQueue(), ScriptedLaunch((serve,)))
    with trio.fail_after(LIMIT_S):
        async with open_either(kind, folder) as broker, broker.bus("gw-1") as bus, trio.open_nursery() as nursery:
            gateway = Gateway(bus)
            bus.on_inbox(gateway.hear)
            world = attrs.evolve(
                world_of(stage, ScriptedAuthority(), ScriptedPools()),
                open_bus=broker.open_bus,
                open_source=JetStreamSource,
            )
            settings = WorkerSettings(nats_url=broker.url, worker_id=WORKER, preload=(MODEL,))
            nursery.start_soon(run, settings, world)
            await bus.wait_session()
            await gateway.until_pulled_from()
            yield broker, gateway
            stage.stop.set()


@pytest.mark.parametrize("kind", KINDS)
async def test_work_by_name_is_run_and_answered_as_such_beside_the_lanes(kind: Kind, tmp_path: Path) -> None:
    async with working(kind, tmp_path) as (_, gateway):
        gateway.ask(OWN, work(0))
        gateway.ask(POOL, work(1))
        assert [(await gateway.result(name)).origin for name in ("r1.0", "r1.1")] == ["direct", None]
        await gateway.until_empty()


@pytest.mark.parametrize("kind", KINDS)
async def test_after_a_restart_that_lost_all_both_queues_are_made_anew(kind: Kind, tmp_path: Path) -> None:
    async with working(kind, tmp_path) as (broker, gateway):
        session = gateway.bus.session
        await broker.kill()
        await broker.start()
        await gateway.bus.wait_session(newer_than=session)
        await gateway.until_pulled_from()
        gateway.ask(OWN, work(0))
        gateway.ask(POOL, work(1))
        assert [(await gateway.result(name)).origin for name in ("r1.0", "r1.1")] == ["direct", None]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_cancelled_leaves_both_queues_without_a_run(kind: Kind, tmp_path: Path) -> None:
    async with working(kind, tmp_path) as (_, gateway):
        router, request = RouterId("gw-1"), RequestId("r1")
        cancel = WorkCancel(router_id=router, request_id=request)
        gateway.bus.publish_nowait(work_cancel_subject(router, request), encode_cancel(cancel))
        gateway.ask(OWN, work(0))
        gateway.ask(POOL, work(1))
        gateway.ask(POOL, attrs.evolve(work(2), request_id="r2"))
        await gateway.result("r1.2")
        await gateway.until_empty()
        assert list(gateway.results) == ["r1.2"]
