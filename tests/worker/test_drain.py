"""A worker that is told to end (expectation 19), beside another one at the same broker, which is a double."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.bus.api import Message
from sie.bus.jetstream import call_api
from sie.bus.jetstream_api import encode_stream
from sie.domain.ids import ModelId, WorkerId
from sie.domain.subjects import HEALTH_ALL, direct_subject, work_stream, work_subject, worker_stream
from sie.testing.cluster.network import Network
from sie.testing.cluster.vectors import outcome, text_of
from sie.testing.cluster.weather import Weather
from sie.wire.heartbeat import decode_heartbeat
from sie.wire.ipc import EncodeBatch, Finished, LoadModel
from sie.wire.work import encode_work
from sie.worker.core.flights import MAX_BATCHES
from sie.worker.settings import WorkerSettings, plan_worker
from tests.worker.doubles import LANE, MODEL, Peer, work
from tests.worker.stage import until
from tests.worker.with_gateway import INBOX, Scene

LEAVING, STAYING = WorkerId("w0"), WorkerId("w1")
BATCH_S = 4.0
AT_ONCE_S = 0.3
GRACE_S = WorkerSettings().drain_grace_s
LONG = "x" * 1000
"""A few of them fill a batch."""


@attrs.define(eq=False)
class Device:
    """Takes its time for each batch, or for ever; `began` has the moment of each, `items` what was in all of them."""

    batch_s: float = BATCH_S
    began: list[float] = attrs.field(factory=list)
    items: int = 0

    async def __call__(self, peer: Peer) -> None:
        await peer.greet()
        while (request := await peer.hear()) is not None:
            if isinstance(request, LoadModel):
                await peer.say(Finished(id=request.id))
            elif isinstance(request, EncodeBatch):
                assert all(map(text_of, request.items))
                self.began.append(trio.current_time())
                self.items += len(request.items)
                await trio.sleep(self.batch_s)
                outcomes = tuple(outcome(request.serving_id, item) for item in request.items)
                await peer.say(Finished(id=request.id, outcomes=outcomes))


@attrs.define(eq=False)
class Pair:
    """One worker that leaves and, once it is asked for, one that stays."""

    here: Scene
    nursery: trio.Nursery
    stop: trio.Event = attrs.field(factory=trio.Event)
    ended: trio.Event = attrs.field(factory=trio.Event)
    stop_other: trio.Event = attrs.field(factory=trio.Event)
    goodbyes: list[float] = attrs.field(factory=list)
    beats: int = 0

    async def leave(self, device: Device) -> None:
        await attrs.evolve(self.here, script=device).worker(LEAVING, self.stop)
        self.ended.set()

    def stay(self, device: Device) -> None:
        self.nursery.start_soon(attrs.evolve(self.here, script=device).worker, STAYING, self.stop_other)

    def ask(self, subject: str, *numbers: int) -> None:
        for number in numbers:
            item = attrs.evolve(work(number, text=LONG), reply_subject=f"{INBOX}.r1", deadline=None)
            self.here.bus.publish_nowait(subject, encode_work(item), headers={"Nats-Msg-Id": item.work_item_id})

    def hear(self, message: Message) -> None:
        status = decode_heartbeat(message.data)
        if status.worker == LEAVING:
            self.beats += status.ready
            self.goodbyes += [trio.current_time()] if status.draining else []

    def answered(self) -> dict[int, str | None]:
        """By whom; nothing is answered twice."""
        results = {result.item_index: result.worker_id for result in self.here.results}
        assert len(results) == len(self.here.results)
        return results

    def has_stream(self, worker: WorkerId) -> bool:
        return worker_stream(worker) in self.here.network.broker.jetstream.streams


@asynccontextmanager
async def pair(device: Device) -> AsyncIterator[Pair]:
    network = Network(1, Weather())
    async with network.running(), network.open_bus("client")("", inbox=INBOX, name="client") as bus:
        here = Scene(network, bus, device, trio.Event())
        bus.on_inbox(here.hear)
        async with trio.open_nursery() as nursery:
            both = Pair(here, nursery)
            async with bus.subscribe(HEALTH_ALL, both.hear):
                nursery.start_soon(both.leave, device)
                await until(lambda: both.beats > 0)
                yield both
                both.stop.set()
                both.stop_other.set()


POOL = work_subject(LANE, ModelId(MODEL))
BY_NAME = direct_subject(LANE, ModelId(MODEL), LEAVING)


@pytest.mark.parametrize("subject", [POOL, BY_NAME], ids=["of the lane", "by name"])
async def test_sigterm_finishes_what_runs_and_hands_over_what_waits_at_once(
    autojump_clock: MockClock, subject: str
) -> None:
    ours, theirs = Device(), Device(0.01)
    async with pair(ours) as both:
        both.ask(subject, *range(20))
        await until(lambda: len(ours.began) == 1)
        both.stay(theirs)
        await trio.sleep(1)
        assert theirs.began == []
        told_s = trio.current_time()
        both.stop.set()
        await until(lambda: bool(theirs.began))
        assert theirs.began[0] - told_s < AT_ONCE_S
        assert both.goodbyes[0] - told_s < AT_ONCE_S
        await both.ended.wait()
        assert trio.current_time() - told_s < MAX_BATCHES * BATCH_S
        await until(lambda: len(both.here.results) == 20)
        by = list(both.answered().values())
        assert by.count(LEAVING) == ours.items < 20
        assert len(ours.began) == MAX_BATCHES
        assert not any(both.here.network.leftovers())


async def test_new_work_is_refused_from_the_stop_on(autojump_clock: MockClock) -> None:
    ours, theirs = Device(), Device(0.01)
    async with pair(ours) as both:
        both.ask(POOL, 0)
        await until(lambda: len(ours.began) == 1)
        both.stop.set()
        await trio.sleep(0.1)
        both.stay(theirs)
        both.ask(POOL, *range(1, 10))
        both.ask(BY_NAME, *range(10, 20))
        await until(lambda: len(both.here.results) == 20)
        assert [index for index, worker in both.answered().items() if worker == LEAVING] == [0]
        assert len(ours.began) == 1


@pytest.mark.parametrize("subject", [POOL, BY_NAME], ids=["of the lane", "by name"])
async def test_what_outlasts_the_grace_is_handed_over_and_the_worker_ends(
    autojump_clock: MockClock, subject: str
) -> None:
    ours, theirs = Device(float("inf")), Device(0.01)
    async with pair(ours) as both:
        both.ask(subject, 0, 1)
        await until(lambda: len(ours.began) == 1)
        both.stay(theirs)
        await trio.sleep(1)
        told_s = trio.current_time()
        both.stop.set()
        await both.ended.wait()
        assert GRACE_S <= trio.current_time() - told_s < GRACE_S + 1
        await until(lambda: len(both.here.results) == 2)
        assert set(both.answered().values()) == {STAYING}
        assert theirs.began[0] - told_s < GRACE_S + AT_ONCE_S


async def test_an_orderly_end_takes_the_workers_own_stream_away_and_a_return_makes_it_anew(
    autojump_clock: MockClock,
) -> None:
    async with pair(Device(0.01)) as both:
        await until(lambda: both.has_stream(LEAVING))
        both.stay(Device(0.01))
        await until(lambda: both.has_stream(STAYING))
        both.stop.set()
        await both.ended.wait()
        assert not both.has_stream(LEAVING)
        assert both.has_stream(STAYING)
        again = trio.Event()
        both.nursery.start_soon(partial(attrs.evolve(both.here, script=Device(0.01)).worker, LEAVING, again))
        await until(lambda: both.has_stream(LEAVING))
        both.ask(BY_NAME, 1)
        await until(lambda: both.answered() == {1: LEAVING})
        again.set()


async def test_work_that_the_lanes_full_queue_does_not_take_stays_in_the_workers_stream(
    autojump_clock: MockClock,
) -> None:
    ours = Device()
    async with pair(ours) as both:
        both.ask(BY_NAME, *range(6))
        await until(lambda: len(ours.began) == 1)
        both.stop.set()
        full = encode_stream(attrs.evolve(plan_worker(WorkerSettings(worker_id=LEAVING)).stream, max_msgs=1))
        await call_api(both.here.bus, f"STREAM.UPDATE.{work_stream(LANE.pool)}", full)
        await both.ended.wait()
        assert both.has_stream(LEAVING)
        again = trio.Event()
        both.nursery.start_soon(partial(attrs.evolve(both.here, script=Device(0.01)).worker, LEAVING, again))
        await until(lambda: set(both.answered()) == set(range(6)))
        again.set()


async def test_work_that_nobody_can_hand_over_stays_in_the_workers_stream(autojump_clock: MockClock) -> None:
    """The broker is cut off at the end: nothing is deleted, and nothing is lost."""
    ours = Device()
    async with pair(ours) as both:
        both.ask(BY_NAME, *range(6))
        await until(lambda: len(ours.began) == 1)
        both.here.network.block(LEAVING)
        both.stop.set()
        await both.ended.wait()
        both.here.network.unblock(LEAVING)
        assert both.has_stream(LEAVING)
        again = trio.Event()
        both.nursery.start_soon(partial(attrs.evolve(both.here, script=Device(0.01)).worker, LEAVING, again))
        await until(lambda: set(both.answered()) == set(range(6)))
        again.set()
