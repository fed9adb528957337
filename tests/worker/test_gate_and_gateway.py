"""A real gateway assigns pools to real workers (§16.3), which run the work of theirs alone; the broker is a double."""

import trio
from trio.testing import MockClock

from sie.worker.gate import POLL_S
from tests.worker.stage import until
from tests.worker.with_gateway import NAMES, scene


async def test_a_capped_pools_work_is_run_by_the_worker_that_the_gateway_assigned_and_given_back_by_the_other(
    autojump_clock: MockClock,
) -> None:
    async with scene() as here:
        assert await here.ask("POST", "/v1/pools", {"name": "acme", "gpu_caps": {"default": 1}})
        (ours,) = await here.until_assigned("acme", 1)
        (other,) = set(NAMES) - {ours}
        await trio.sleep(POLL_S)
        here.publish("acme", 20)
        here.publish("default", 20)
        await until(lambda: len(here.results) == 40)
        by_pool = {result.work_item_id: result.worker_id for result in here.results}
        assert len(by_pool) == 40
        assert {by_pool[f"r1.{number}"] for number in range(1, 21)} == {ours}
        assert here.given_back[ours] == 0
        assert here.given_back[other] > 0


async def test_a_pool_that_is_new_is_served_by_workers_that_have_not_polled_since(autojump_clock: MockClock) -> None:
    async with scene() as here:
        here.publish("acme", 4)
        await trio.sleep(2 * POLL_S)
        assert here.results == []
        assert sum(here.given_back.values()) >= 4
        assert await here.ask("POST", "/v1/pools", {"name": "acme", "gpus": {"default": 2}})
        await until(lambda: len(here.results) == 4)


async def test_a_pool_that_is_deleted_is_served_by_nobody(autojump_clock: MockClock) -> None:
    async with scene() as here:
        assert await here.ask("POST", "/v1/pools", {"name": "acme", "gpus": {"default": 2}})
        await here.until_assigned("acme", 2)
        await trio.sleep(POLL_S)
        here.publish("acme", 4)
        await until(lambda: len(here.results) == 4)
        assert await here.ask("DELETE", "/v1/pools/acme")
        await trio.sleep(POLL_S + 1)
        here.publish("acme", 4)
        await trio.sleep(3 * POLL_S)
        assert len(here.results) == 4
