"""Inputs that fit no message, through a real gateway and real workers (§16.2): put aside, fetched, run, forgotten."""

import json

import pytest
import trio
from trio.testing import MockClock

from sie.storage.backend import StorageError
from sie.testing.cluster.served import Answer, Call, ConnectionLost
from sie.testing.cluster.vectors import vector
from sie.worker.consume.fetches import MOST
from sie.worker.consume.payloads import STORE_NAK_S
from tests.worker.doubles import MODEL
from tests.worker.stage import until
from tests.worker.with_gateway import Scene, Slow, scene

LONG = "a" * (1024 * 1024)


async def encode(here: Scene, *texts: str) -> Answer:
    kind = {"content-type": "application/json", "accept": "application/json"}
    body = json.dumps({"items": [{"text": text} for text in texts]}).encode()
    return await here.server.request(Call("POST", f"/v1/encode/{MODEL}", kind, body))


async def ask_in_vain(here: Scene) -> None:
    with pytest.raises(ConnectionLost):
        await encode(here, *[LONG] * 3)


def vectors(answer: Answer) -> list[list[float]]:
    assert answer.status == 200, answer.body
    return [item["dense"]["values"] for item in json.loads(answer.body)["items"]]


async def test_a_long_input_is_answered_like_any_and_leaves_nothing_behind(autojump_clock: MockClock) -> None:
    async with scene(Slow(batch_s=0)) as here:
        here.fetch_s = 0.25
        answer = await encode(here, "short", LONG)
        assert vectors(answer) == [vector(MODEL, "short"), vector(MODEL, LONG)]
        assert answer.headers["x-payload-fetch-time"] == "250.0"
        assert not here.payloads.objects


async def test_more_long_inputs_than_are_fetched_at_once_are_all_answered(autojump_clock: MockClock) -> None:
    texts = [f"{n}{LONG}" for n in range(2 * MOST)]
    async with scene(Slow(batch_s=0)) as here:
        here.fetch_s = 0.25
        assert vectors(await encode(here, *texts)) == [vector(MODEL, text) for text in texts]


async def test_a_store_that_fails_for_a_while_costs_a_delay(autojump_clock: MockClock) -> None:
    async def heal(here: Scene) -> None:
        await until(lambda: any(here.given_back.values()))
        here.payloads.failure = None

    async def fail(here: Scene) -> None:
        await until(lambda: bool(here.payloads.objects))
        here.payloads.failure = StorageError("away")

    async with scene(Slow(batch_s=0)) as here, trio.open_nursery() as nursery:
        here.fetch_s = 1.0
        began_s = trio.current_time()
        nursery.start_soon(fail, here)
        nursery.start_soon(heal, here)
        assert vectors(await encode(here, LONG)) == [vector(MODEL, LONG)]
        assert trio.current_time() - began_s >= STORE_NAK_S


async def test_what_is_fetched_when_the_worker_stops_goes_back_at_once(autojump_clock: MockClock) -> None:
    async with scene(Slow(batch_s=0)) as here, trio.open_nursery() as nursery:
        here.fetch_s = 60.0
        nursery.start_soon(ask_in_vain, here)
        await until(lambda: len(here.payloads.objects) == 3)
        await trio.sleep(1)
        assert not any(here.given_back.values())
        here.stop.set()
        stopped_s = trio.current_time()
        await until(lambda: sum(here.given_back.values()) >= 3)
        assert trio.current_time() - stopped_s < 1
        nursery.cancel_scope.cancel()
