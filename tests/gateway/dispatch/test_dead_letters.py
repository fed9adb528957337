"""Work that JetStream gave up is filed once, its caller told, and its message taken away (§8, §8.2)."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio

from property_tests.wire.test_dead_letter import FROM_A_SERVER
from sie.bus.api import Bus, Message
from sie.bus.dead_letters import DeadLetterBox, dead_letters_spec
from sie.bus.jetstream import call_api, open_puller
from sie.bus.jetstream_api import Storage, encode_json
from sie.bus.stored import delete_stored, read_stored
from sie.gateway.dispatch import dead_letters
from sie.gateway.dispatch.dead_letters import DeadLetters
from sie.runtime.service import running
from sie.testing.broker.face import open_broker
from sie.testing.broker.model import Broker
from sie.wire.result import WorkResult, decode_result
from sie.wire.work import encode_work
from tests.bus.either import KINDS, Either, Kind, double, open_either
from tests.bus.giving_up import CONSUMER, SUBJECT, count_in, exhaust, letters_in, queue, stream_spec, work
from tests.bus.waiting import CEILING_S, settle, until

STREAM = stream_spec().name


def handler(bus: Bus, storage: Storage = "memory") -> DeadLetters:
    return DeadLetters(bus, DeadLetterBox(bus, dead_letters_spec(storage=storage, replicas=1)))


@attrs.frozen
class Gateway:
    bus: Bus
    letters: DeadLetters
    results: list[WorkResult]

    def hear(self, message: Message) -> None:
        self.results.append(decode_result(message.data))


@asynccontextmanager
async def gateway(broker: Either, name: str) -> AsyncIterator[Gateway]:
    async with broker.bus(name) as bus:
        letters = handler(bus)
        made = Gateway(bus, letters, [])
        bus.on_inbox(made.hear)
        async with running(letters.keep_forever):
            await bus.wait_session()
            for _ in range(2):  # in the first it begins to listen, by the end of the second the broker knows
                await settle(bus)
            yield made


@pytest.mark.parametrize("kind", KINDS)
async def test_two_gateways_hear_of_it_and_one_letter_is_kept(kind: Kind, tmp_path: Path) -> None:
    with trio.fail_after(CEILING_S):
        async with (
            open_either(kind, tmp_path) as broker,
            gateway(broker, "gw-1") as one,
            gateway(broker, "gw-2") as two,
            broker.bus("worker") as bus,
        ):
            await bus.wait_session()
            items = [work(number) for number in range(5)]
            await queue(bus, items)
            await exhaust(bus, len(items))
            both = (one.letters.counts, two.letters.counts)
            await until(lambda: all(counts.filed + counts.refiled + counts.gone == 5 for counts in both))
            letters = sorted(await letters_in(bus), key=lambda letter: letter.advisory.stream_seq)
            assert [letter.work for letter in letters] == [encode_work(item) for item in items]
            assert {(letter.subject, letter.advisory.deliveries) for letter in letters} == {(SUBJECT, 2)}
            assert await count_in(bus, STREAM) == 0
            assert sum(counts.filed for counts in both) == 5
            await until(lambda: {result.item_index for result in one.results} == set(range(5)))
            assert {(result.success, result.error_code) for result in one.results} == {(False, "inference_error")}
            assert two.results == []


@pytest.mark.parametrize("kind", KINDS)
async def test_work_whose_lease_runs_out_on_silent_workers_is_filed_and_the_rest_is_left(
    kind: Kind, tmp_path: Path
) -> None:
    with trio.fail_after(CEILING_S):
        async with (
            open_either(kind, tmp_path) as broker,
            gateway(broker, "gw-1") as one,
            broker.bus("worker") as bus,
        ):
            await bus.wait_session()
            await queue(bus, [work(0)])
            async with open_puller(bus, stream=STREAM, consumer=CONSUMER.name, capacity=8) as puller:
                assert [(await puller.receive()).deliveries for _ in range(2)] == [1, 2]
                await until(lambda: one.letters.counts.deleted == 1)
            await queue(bus, [work(1)])
            assert [letter.advisory.deliveries for letter in await letters_in(bus)] == [2]
            assert await count_in(bus, STREAM) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_heard_before_the_broker_went_away_is_filed_when_it_is_back(
    kind: Kind, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either(kind, tmp_path) as broker, broker.bus("gw-1") as bus:
            session = await bus.wait_session()
            await queue(bus, [work(0), work(1)], storage="file")
            advisories = await exhaust(bus, 2)
            await broker.kill()
            await until(lambda: not bus.session)
            letters = handler(bus, "file")
            for advisory in advisories:
                letters.hear(advisory)
            async with running(letters.keep_forever):
                await until(lambda: "dead letters cannot be filed, and are tried again" in caplog.messages)
                await broker.start()
                await bus.wait_session(newer_than=session)
                await until(lambda: letters.counts.deleted == 2)
            assert sorted(letter.advisory.stream_seq for letter in await letters_in(bus)) == [1, 2]
            assert caplog.messages.count("dead letters cannot be filed, and are tried again") == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_new_work_that_took_the_number_of_lost_work_is_not_touched(kind: Kind, tmp_path: Path) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either(kind, tmp_path) as broker, broker.bus("gw-1") as bus:
            session = await bus.wait_session()
            await queue(bus, [work(0)])
            (advisory,) = await exhaust(bus, 1)
            await broker.kill()
            await broker.start()
            await bus.wait_session(newer_than=session)
            await queue(bus, [work(7)])
            letters = handler(bus)
            letters.hear(advisory)
            async with running(letters.keep_forever):
                await until(lambda: letters.counts.gone == 1)
            found = await read_stored(bus, STREAM, 1)
            assert found is not None
            assert found.data == encode_work(work(7))
            assert await letters_in(bus) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_worker_acknowledged_after_all_is_no_dead_letter(kind: Kind, tmp_path: Path) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either(kind, tmp_path) as broker, broker.bus("gw-1") as bus:
            await bus.wait_session()
            await queue(bus, [work(0)])
            (advisory,) = await exhaust(bus, 1)
            await delete_stored(bus, STREAM, 1)
            letters = handler(bus)
            letters.hear(advisory)
            async with running(letters.keep_forever):
                await until(lambda: letters.counts.gone == 1)
            assert await letters_in(bus) == []


async def test_one_letter_that_is_refused_holds_up_no_other(tmp_path: Path) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either("real", tmp_path) as broker, broker.bus("gw-1") as bus:
            await bus.wait_session()
            config = {"name": "DEAD_LETTERS", "subjects": ["sie.dlq.>"], "max_msg_size": 2000, "storage": "memory"}
            await call_api(bus, "STREAM.CREATE.DEAD_LETTERS", config)
            await queue(bus, [work(0, text="x" * 4000), work(1), work(2)])
            advisories = await exhaust(bus, 3)
            letters = handler(bus)
            for advisory in advisories:
                letters.hear(advisory)
            async with running(letters.keep_forever):
                await until(lambda: letters.counts.filed == 2)
                assert len(letters) <= 1
            assert {letter.work for letter in await letters_in(bus)} == {encode_work(work(n)) for n in (1, 2)}


async def test_work_too_large_for_its_letter_stays_in_its_stream() -> None:
    with trio.fail_after(CEILING_S):
        async with (
            open_broker(Broker(trio.current_time, max_payload=2000)) as broker,
            double(broker).bus("gw-1") as bus,
        ):
            await bus.wait_session()
            await queue(bus, [work(0, text="x" * 1200)])
            (advisory,) = await exhaust(bus, 1)
            letters = handler(bus)
            letters.hear(advisory)
            async with running(letters.keep_forever):
                await until(lambda: letters.counts.answered == 1)
                await until(lambda: not len(letters))
            assert [letter.work for letter in await letters_in(bus)] == [None]
            assert await count_in(bus, STREAM) == 1
            assert letters.counts.deleted == 0


def advisory_of(stream: str) -> Message:
    return Message("$JS.EVENT", encode_json({**FROM_A_SERVER, "stream": stream}))


async def test_other_streams_and_what_cannot_be_read_are_no_concern_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    async with open_broker() as broker, double(broker).bus("gw-1") as bus:
        letters = handler(bus)
        letters.hear(advisory_of("ORDERS"))
        letters.hear(Message("$JS.EVENT", b"nonsense"))
        letters.hear(Message("$JS.EVENT", b"more nonsense"))
        assert (letters.counts.heard, letters.counts.unreadable, len(letters)) == (0, 2, 0)
        assert caplog.messages.count("an advisory cannot be read") == 1


async def test_a_storm_of_advisories_is_bounded_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async with open_broker() as broker, double(broker).bus("gw-1") as bus:
        letters = handler(bus)
        for _ in range(dead_letters.MAX_WAITING + 3):
            letters.hear(advisory_of("WORK_POOL_default"))
        assert (len(letters), letters.counts.dropped) == (dead_letters.MAX_WAITING, 3)
        assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 1
