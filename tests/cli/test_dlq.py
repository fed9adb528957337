"""`sie dlq` as a process at a real nats-server (§8): what a person sees, and what becomes of the letters."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import pytest
import trio

from property_tests.wire.test_dead_letter import FROM_A_SERVER
from sie.bus.api import Bus
from sie.bus.dead_letters import DeadLetterBox, dead_letters_spec
from sie.bus.jetstream import ack, open_puller
from sie.bus.nats import open_bus
from sie.bus.request import request
from sie.bus.stored import delete_stored
from sie.testing.nats_server import NatsServer, open_nats_server
from sie.wire.codec import pack
from sie.wire.dead_letter import advisory_of, dead_letter, decode_advisory
from sie.wire.result import WorkResult, encode_result
from sie.wire.work import WorkItem, decode_work, encode_work
from tests.bus.giving_up import CONSUMER, SUBJECT, exhaust, letters_in, queue, work
from tests.bus.waiting import CEILING_S

pytestmark = pytest.mark.ceiling(90)

LIMIT_S = 60.0
"""Every command is a process of its own, on a machine that may be busy."""


@attrs.frozen
class Ended:
    code: int
    out: str
    err: str

    @property
    def told(self) -> object:
        return json.loads(self.out)


async def dlq(*words: str, **environ: str) -> Ended:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SIE_")}
    command = [sys.executable, "-m", "sie.cli", "dlq", *words]
    with trio.fail_after(LIMIT_S):
        ended = await trio.run_process(
            command, capture_stdout=True, capture_stderr=True, check=False, env={**plain, **environ}
        )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@attrs.frozen
class Place:
    server: NatsServer
    bus: Bus

    async def dlq(self, *words: str) -> Ended:
        return await dlq(*words, SIE_NATS_URL=self.server.url)

    async def file(self, *items: WorkItem, first: int = 1) -> None:
        box = DeadLetterBox(self.bus, dead_letters_spec(storage="memory", replicas=1))
        for number, item in enumerate(items, first):
            advisory = advisory_of({**FROM_A_SERVER, "stream_seq": number})
            await box.file(dead_letter(advisory, SUBJECT, encode_work(item)))

    async def count(self) -> int:
        return len(await letters_in(self.bus))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with (
        open_nats_server(store_dir=tmp_path) as server,
        open_bus(server.url, inbox="_INBOX.test", name="test") as bus,
    ):
        with trio.fail_after(CEILING_S):
            await bus.wait_session()
        yield Place(server, bus)


@asynccontextmanager
async def worker(bus: Bus, answer: Callable[[WorkItem], WorkResult]) -> AsyncIterator[list[WorkItem]]:
    """Answers whatever comes to the lane."""
    seen: list[WorkItem] = []
    await queue(bus, [])

    async def answer_forever() -> None:
        async with open_puller(bus, stream=CONSUMER.stream, consumer=CONSUMER.name, capacity=4) as puller:
            while True:
                delivery = await puller.receive()
                seen.append(decode_work(delivery.data))
                bus.publish_nowait(seen[-1].reply_subject, encode_result(answer(seen[-1])))
                ack(bus, delivery)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer_forever)
        yield seen
        nursery.cancel_scope.cancel()


def well(item: WorkItem) -> WorkResult:
    return WorkResult(
        work_item_id=item.work_item_id,
        request_id=item.request_id,
        item_index=item.item_index,
        success=True,
        result_msgpack=pack({"dense": {"dims": 2, b"data": bytes(8)}}),
        worker_id="w1",
    )


def badly(item: WorkItem) -> WorkResult:
    return attrs.evolve(well(item), success=False, result_msgpack=None, error="it broke", error_code="inference_error")


async def test_without_dead_letters_the_list_says_so_and_there_is_none_to_show(place: Place) -> None:
    assert await place.dlq("list") == Ended(0, "there are no dead letters\n", "")
    for words in (("show", "1"), ("replay", "1")):
        ended = await place.dlq(*words)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err == "Error: there is no dead letter 1; `sie dlq list` shows those there are\n"


async def test_the_list_has_the_newest_first_and_can_be_narrowed(place: Place) -> None:
    await place.file(work(0), work(1))
    await request(place.bus, "sie.dlq.other", b"nonsense", timeout_s=CEILING_S)
    lines = (await place.dlq("list")).out.splitlines()
    assert [line.split()[0] for line in lines] == ["SEQ", "3", "2", "1"]
    assert lines[3].split()[2:6] == ["acme__small", "20", "encode", "r1"]
    assert "no JSON" in lines[1]
    narrowed = (await place.dlq("list", "--model", "acme/small", "--limit", "1", "--json")).told
    assert isinstance(narrowed, list)
    assert [(row["seq"], row["work_item_id"], row["deliveries"]) for row in narrowed] == [(2, "r1.1", 20)]
    assert (await place.dlq("list", "--model", "nobody/has")).out == "there are no dead letters of nobody/has\n"


async def test_a_letter_is_shown_with_all_that_is_in_it(place: Place) -> None:
    await place.file(work(0, text="Wo bist du?"))
    shown = (await place.dlq("show", "1")).told
    assert isinstance(shown, dict)
    assert shown["advisory"] == {**FROM_A_SERVER, "stream_seq": 1}
    assert (shown["work_subject"], shown["work_item"]["item"]) == (SUBJECT, {"text": "Wo bist du?"})


async def test_a_replay_that_succeeds_shows_the_result_and_deletes_the_letter(place: Place) -> None:
    await place.file(work(0), work(1))
    async with worker(place.bus, well) as seen:
        ended = await place.dlq("replay", "2")
    assert (ended.code, ended.err) == (0, "done; dead letter 2 is deleted\n")
    assert isinstance(ended.told, dict)
    assert ended.told["result_msgpack"] == {"dense": {"dims": 2, "data": "<8 bytes>"}}
    (item,) = seen
    assert (item.item, item.model_id, item.item_index) == (work(1).item, work(1).model_id, 1)
    assert (item.request_id, item.work_item_id) != ("r1", "r1.1")
    assert [letter.work for letter in await letters_in(place.bus)] == [encode_work(work(0))]


async def test_a_replay_leaves_the_letter_where_it_is_told_to(place: Place) -> None:
    await place.file(work(0))
    async with worker(place.bus, well):
        ended = await place.dlq("replay", "1", "--keep")
    assert (ended.code, ended.err, await place.count()) == (0, "done; dead letter 1 is kept\n", 1)


async def test_a_replay_that_fails_shows_why_and_keeps_the_letter(place: Place) -> None:
    await place.file(work(0))
    async with worker(place.bus, badly):
        ended = await place.dlq("replay", "1")
    assert (ended.code, ended.err) == (1, "Error: the work failed again; dead letter 1 is kept\n")
    assert isinstance(ended.told, dict)
    assert (ended.told["error"], await place.count()) == ("it broke", 1)


async def test_a_replay_that_nobody_answers_ends_and_keeps_the_letter(place: Place) -> None:
    await place.file(work(0))
    await queue(place.bus, [])
    ended = await place.dlq("replay", "1", "--timeout", "0.3")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "Error: no result came within 0.3 s; nobody works on it after that\n"
    assert await place.count() == 1


async def test_a_replay_without_a_queue_to_take_it_says_so(place: Place) -> None:
    await place.file(work(0))
    ended = await place.dlq("replay", "1")
    assert (ended.code, ended.err) == (1, f"Error: nobody listens on {SUBJECT}\n")


async def test_work_too_large_for_its_letter_is_found_in_its_stream_while_it_is_there(place: Place) -> None:
    large = work(0, text="x" * 900_000)
    await queue(place.bus, [large])
    (told,) = await exhaust(place.bus, 1)
    letter = dead_letter(decode_advisory(told.data), SUBJECT, encode_work(large))
    await DeadLetterBox(place.bus, dead_letters_spec(storage="memory", replicas=1)).file(letter)
    assert "does not lie here" in (await place.dlq("list", "--json")).out
    async with worker(place.bus, well) as seen:
        assert (await place.dlq("replay", "1", "--keep")).code == 0
    assert large.item in [item.item for item in seen]
    await delete_stored(place.bus, CONSUMER.stream, 1)
    ended = await place.dlq("replay", "1")
    assert ended.code == 1
    assert "the work of dead letter 1 is not there any more" in ended.err


async def test_a_broker_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    ended = await dlq("list", "--nats-url", "nats://ann:secret@127.0.0.1:1")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("Error: no connection to the broker at 127.0.0.1:1 within")
    assert "secret" not in ended.err


async def test_name_and_password_come_from_the_environment(tmp_path: Path) -> None:
    async with open_nats_server(store_dir=tmp_path, arguments=("--user", "ann", "--pass", "s3:cr@t")) as server:
        ended = await dlq("list", "--nats-url", server.url, SIE_NATS_USER="ann", SIE_NATS_PASSWORD="s3:cr@t")
    assert ended == Ended(0, "there are no dead letters\n", "")


@pytest.mark.parametrize("words", [("show",), ("show", "0"), ("replay", "one"), ("replay", "1", "--timeout", "0")])
async def test_a_mistaken_word_is_a_usage_error(words: tuple[str, ...]) -> None:
    assert (await dlq(*words)).code == 2
