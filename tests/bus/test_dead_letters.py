"""The stream of dead letters and what is filed in it, at a real nats-server and at its double (§8, §8.2)."""

import logging
from pathlib import Path

import attrs
import pytest
import trio

from property_tests.wire.test_dead_letter import FROM_A_SERVER
from sie.bus.api import NoResponders
from sie.bus.dead_letters import DeadLetterBox, Filed, dead_letters_spec
from sie.bus.jetstream import call_api, ensure_stream
from sie.bus.jetstream_api import answer_config
from sie.bus.stored import read_stored
from sie.domain.subjects import DEAD_LETTERS
from sie.testing.broker.face import open_broker
from sie.testing.broker.model import Broker
from sie.wire.dead_letter import DeadLetter, advisory_of, dead_letter
from tests.bus.either import KINDS, Kind, double, open_either
from tests.bus.giving_up import SUBJECT, letters_in
from tests.bus.waiting import CEILING_S

SPEC = dead_letters_spec(storage="memory", replicas=1)


def letter(seq: int = 1, work: bytes = b"work") -> DeadLetter:
    return dead_letter(advisory_of({**FROM_A_SERVER, "stream_seq": seq}), SUBJECT, work)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_letter_is_kept_once_under_its_model_for_a_day(kind: Kind, tmp_path: Path) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either(kind, tmp_path) as broker, broker.bus("one") as one, broker.bus("two") as two:
            await one.wait_session()
            await two.wait_session()
            assert await DeadLetterBox(one, SPEC).file(letter()) == Filed(is_new=True, is_whole=True)
            assert await DeadLetterBox(two, SPEC).file(letter()) == Filed(is_new=False, is_whole=True)
            assert await letters_in(one) == [letter()]
            stored = await read_stored(one, DEAD_LETTERS, 1)
            assert stored is not None
            assert stored.subject == "sie.dlq.acme__small"
            config = answer_config(await call_api(one, f"STREAM.INFO.{DEAD_LETTERS}"))
            assert {key: config[key] for key in ("subjects", "retention", "max_age", "discard")} == {
                "subjects": ["sie.dlq.>"],
                "retention": "limits",
                "max_age": 24 * 3600 * 10**9,
                "discard": "old",
            }


@pytest.mark.parametrize("kind", KINDS)
async def test_a_broker_that_lost_the_stream_gets_it_again_in_the_next_session(kind: Kind, tmp_path: Path) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either(kind, tmp_path) as broker, broker.bus("one") as bus:
            box = DeadLetterBox(bus, SPEC)
            session = await bus.wait_session()
            await box.file(letter(1))
            await broker.kill()
            await broker.start()
            await bus.wait_session(newer_than=session)
            await box.file(letter(2))
            assert await letters_in(bus) == [letter(2)]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_that_an_operator_took_away_is_made_again_at_the_next_letter(kind: Kind, tmp_path: Path) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either(kind, tmp_path) as broker, broker.bus("one") as bus:
            box = DeadLetterBox(bus, SPEC)
            await bus.wait_session()
            await box.file(letter(1))
            await call_api(bus, f"STREAM.DELETE.{DEAD_LETTERS}")
            with pytest.raises(NoResponders):
                await box.file(letter(2))
            await box.file(letter(2))
            assert await letters_in(bus) == [letter(2)]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_that_is_there_is_repaired_and_its_storage_left_alone(
    kind: Kind, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with trio.fail_after(CEILING_S):
        async with open_either(kind, tmp_path) as broker, broker.bus("one") as bus:
            await bus.wait_session()
            await ensure_stream(bus, attrs.evolve(SPEC, storage="file", max_age_s=60, discard="new"))
            await DeadLetterBox(bus, SPEC).file(letter())
            config = answer_config(await call_api(bus, f"STREAM.INFO.{DEAD_LETTERS}"))
            assert (config["storage"], config["max_age"], config["discard"]) == ("file", 24 * 3600 * 10**9, "old")
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "storage" in [getattr(record, "setting", None) for record in warned]


async def test_work_too_large_to_lie_beside_its_advisory_is_left_out_and_counted() -> None:
    with trio.fail_after(CEILING_S):
        async with open_broker(Broker(trio.current_time, max_payload=2000)) as broker, double(broker).bus("one") as bus:
            await bus.wait_session()
            box = DeadLetterBox(bus, SPEC)
            assert await box.file(letter(1, bytes(1000))) == Filed(is_new=True, is_whole=True)
            assert await box.file(letter(2, bytes(1500))) == Filed(is_new=True, is_whole=False)
            assert [found.work for found in await letters_in(bus)] == [bytes(1000), None]
            assert [found.work_bytes for found in await letters_in(bus)] == [1000, 1500]
