"""An input that kills its backend again and again becomes a dead letter before it is acked (§8, decisions)."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.bus.api import Bus, Message
from sie.bus.dead_letters import Filed, dead_letters_spec
from sie.bus.jetstream import ensure_stream
from sie.domain.ids import ModelId
from sie.domain.subjects import work_stream, work_subject
from sie.testing.broker.face import open_broker, open_broker_bus
from sie.wire.dead_letter import GIVEN_UP, DeadLetter
from sie.wire.ipc import Finished, LoadModel
from sie.wire.result import WorkResult, decode_result
from sie.wire.work import WorkItem, encode_work
from sie.worker.app import run
from sie.worker.consume.burial import Burial
from sie.worker.consume.source import JetStreamSource
from sie.worker.core.batching import Candidate
from sie.worker.core.flights import GivenUp
from sie.worker.core.held_work import Held
from sie.worker.settings import WorkerSettings, plan_worker
from tests.bus.either import double
from tests.bus.giving_up import count_in, letters_in
from tests.worker.doubles import (
    LANE,
    MODEL,
    UNIX_S,
    WORKER,
    Peer,
    ScriptedBus,
    ScriptedLaunch,
    ScriptedQueue,
    delivery,
    work,
)
from tests.worker.stage import ScriptedAuthority, ScriptedPools, Stage, until, world_of

SETTINGS = WorkerSettings(worker_id=WORKER, preload=(MODEL,))
SUBJECT = work_subject(LANE, ModelId(MODEL))


async def die_of_any_batch(peer: Peer) -> None:
    await peer.greet()
    while isinstance(request := await peer.hear(), LoadModel):
        await peer.say(Finished(id=request.id))


@attrs.define
class Heard:
    """What passed the broker, in order: `letter`, `result` or the words of an ack."""

    bus: Bus
    events: list[str] = attrs.field(factory=list)
    results: list[WorkResult] = attrs.field(factory=list)

    def on_letter(self, _: Message) -> None:
        self.events.append("letter")

    def on_result(self, message: Message) -> None:
        self.events.append("result")
        self.results.append(decode_result(message.data))

    def on_word(self, message: Message) -> None:
        if message.data != b"+WPI":
            self.events.append(message.data.decode())

    def ask(self, *items: WorkItem) -> None:
        for item in items:
            self.bus.publish_nowait(SUBJECT, encode_work(item))


@asynccontextmanager
async def dying_worker() -> AsyncIterator[Heard]:
    stage = Stage(trio.Event(), ScriptedBus(), ScriptedQueue(), ScriptedLaunch((die_of_any_batch,)))
    async with open_broker() as broker, double(broker).bus("gw-1") as bus, trio.open_nursery() as nursery:
        heard = Heard(bus)
        world = attrs.evolve(
            world_of(stage, ScriptedAuthority(), ScriptedPools()),
            open_bus=partial(open_broker_bus, broker),
            open_source=JetStreamSource,
        )
        async with (
            bus.subscribe("sie.dlq.>", heard.on_letter),
            bus.subscribe("_INBOX.gw-1.r1", heard.on_result),
            bus.subscribe("$JS.ACK.>", heard.on_word),
        ):
            await bus.wait_session()
            nursery.start_soon(run, SETTINGS, world)
            await until(lambda: work_stream(LANE.pool) in broker.jetstream.streams)
            yield heard
            stage.stop.set()


async def test_a_given_up_input_is_kept_before_its_caller_is_told_and_it_is_acked(autojump_clock: MockClock) -> None:
    async with dying_worker() as heard:
        heard.ask(work(0))
        await until(lambda: "+ACK" in heard.events)
        (letter,) = await letters_in(heard.bus)
        assert heard.events == ["letter", "result", "+ACK"]
        assert [result.error_code for result in heard.results] == ["inference_error"]
        assert (letter.subject, letter.work) == (SUBJECT, encode_work(work(0)))
        assert (letter.advisory.told["type"], letter.advisory.told["worker"]) == (GIVEN_UP, WORKER)
        assert await count_in(heard.bus, work_stream(LANE.pool)) == 0


async def test_all_that_was_in_the_batch_is_kept(autojump_clock: MockClock) -> None:
    async with dying_worker() as heard:
        heard.ask(work(0), work(1))
        await until(lambda: heard.events.count("+ACK") == 2)
        assert {letter.work for letter in await letters_in(heard.bus)} == {encode_work(work(n)) for n in (0, 1)}


async def test_an_input_that_cannot_be_kept_is_told_of_and_does_not_come_back(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with dying_worker() as heard:
        await ensure_stream(heard.bus, attrs.evolve(dead_letters_spec(storage="memory", replicas=1), name="OTHER"))
        heard.ask(work(0))
        await until(lambda: "+ACK" in heard.events)
        assert heard.events == ["result", "+ACK"]
        assert await count_in(heard.bus, work_stream(LANE.pool)) == 0
    assert caplog.messages.count("inputs were given up, and cannot be kept as dead letters") == 1


@attrs.define
class Box:
    """Takes letters, or never comes back."""

    hangs: bool = False
    letters: list[DeadLetter] = attrs.field(factory=list)

    async def file(self, letter: DeadLetter) -> Filed:
        await trio.sleep(math.inf if self.hangs else 0)
        self.letters.append(letter)
        return Filed(is_new=True, is_whole=True)


def held(seq: int) -> Held:
    item = work(seq)
    return Held(item, Candidate(seq, MODEL, item.operation, 1, ("gw-1", "r1")), delivery(item, seq), 0.0, 0.0)


def burial(box: Box) -> Burial:
    return Burial(box, plan_worker(SETTINGS).consumer_of, WORKER, lambda: UNIX_S)


async def test_what_is_not_lent_any_more_is_not_ours_to_keep() -> None:
    box, lost, ours = Box(), held(1), held(2)
    lost.is_lent = False
    await burial(box).file([lost, ours], GivenUp(id=1, error_code="inference_error", error="it died"))
    assert [letter.advisory.stream_seq for letter in box.letters] == [2]


async def test_a_broker_that_does_not_answer_holds_nothing_up(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    await burial(Box(hangs=True)).file([held(1)], GivenUp(id=1, error_code="inference_error", error="it died"))
    assert caplog.messages == ["inputs were given up, and cannot be kept as dead letters"]
