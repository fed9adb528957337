"""Through a real gateway and real workers (§8.2, §16.3): whose client goes away is dropped; whose pool is capped goes
to its worker by name, and to the queue of all where that takes no more.
"""

import json

import trio
from trio.testing import MockClock

from sie.domain.ids import ModelId, WorkerId
from sie.domain.subjects import direct_subject, work_subject
from sie.testing.cluster.served import Answer, Call
from sie.testing.cluster.vectors import vector
from sie.worker.core.flights import MAX_BATCHES
from sie.worker.core.held_work import FULL_ITEMS
from sie.worker.gate import POLL_S
from tests.worker.doubles import LANE, MODEL
from tests.worker.stage import until
from tests.worker.with_gateway import Scene, Slow, scene

LONG = "x" * 1000
"""Two of them fill a batch."""
A_BATCH = 2


async def encode(here: Scene, *texts: str, pool: str = "default") -> Answer:
    headers = {"content-type": "application/json", "accept": "application/json", "x-sie-pool": pool}
    body = json.dumps({"items": [{"text": text} for text in texts]}).encode()
    return await here.server.request(Call("POST", f"/v1/encode/{MODEL}", headers, body))


def vectors(answer: Answer) -> list[list[float]]:
    assert answer.status == 200, answer.body
    return [item["dense"]["values"] for item in json.loads(answer.body)["items"]]


async def test_a_client_that_goes_away_stops_its_queued_work(autojump_clock: MockClock) -> None:
    """Expectation 17."""
    backend = Slow(batch_s=20)
    async with scene(backend, names=("w0",)) as here:
        with trio.move_on_after(5) as patience:
            await encode(here, *[LONG] * 20)
        assert patience.cancelled_caught
        assert len(here.queued) == 20
        await until(lambda: not any(here.network.leftovers()))
        assert len(backend.texts) == MAX_BATCHES * A_BATCH
        assert vectors(await encode(here, "after")) == [vector(MODEL, "after")]
        assert backend.texts[MAX_BATCHES * A_BATCH :] == ["after"]


async def test_a_request_that_runs_out_of_time_stops_its_queued_work(autojump_clock: MockClock) -> None:
    backend = Slow(batch_s=100)
    async with scene(backend, names=("w0",)) as here:
        answer = await encode(here, *[LONG] * 20)
        assert answer.status == 504
        await until(lambda: not any(here.network.leftovers()))
        assert len(backend.texts) < 20


async def test_a_capped_pools_request_goes_to_its_worker_by_name_alone(autojump_clock: MockClock) -> None:
    backend = Slow(batch_s=0.01)
    async with scene(backend) as here:
        assert await here.ask("POST", "/v1/pools", {"name": "acme", "gpu_caps": {"default": 1}})
        (ours,) = await here.until_assigned("acme", 1)
        await trio.sleep(POLL_S)
        assert vectors(await encode(here, "a", "b", pool="acme")) == [vector(MODEL, "a"), vector(MODEL, "b")]
        assert here.queued == [direct_subject(LANE, ModelId(MODEL), WorkerId(ours))] * 2
        assert here.given_back == {"w0": 0, "w1": 0}
        assert not any(here.network.leftovers())


async def test_what_its_worker_does_not_take_by_name_goes_to_the_pool_and_is_run_once(
    autojump_clock: MockClock,
) -> None:
    backend = Slow(batch_s=1)
    async with scene(backend, names=("w0",)) as here:
        assert await here.ask("POST", "/v1/pools", {"name": "acme", "gpu_caps": {"default": 1}})
        await here.until_assigned("acme", 1)
        await trio.sleep(POLL_S)
        texts = [f"text {number}" for number in range(2 * FULL_ITEMS)]
        assert vectors(await encode(here, *texts, pool="acme")) == [vector(MODEL, text) for text in texts]
        resent = here.queued[len(texts) :]
        assert set(here.queued[: len(texts)]) == {direct_subject(LANE, ModelId(MODEL), WorkerId("w0"))}
        assert set(resent) == {work_subject(LANE, ModelId(MODEL))}
        assert sorted(backend.texts) == sorted(texts)
        assert not any(here.network.leftovers())
