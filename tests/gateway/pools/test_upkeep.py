"""Leases end by themselves, and a pool's workers follow the fleet (§16.3). The clock jumps."""

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.domain.ids import DEFAULT_POOL, BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.pool import Pool, PoolSpec, pool_spec
from sie.domain.worker import WorkerStatus
from sie.gateway.core.demand import Demand
from sie.gateway.core.pool_view import SKEW_S, PoolView
from sie.gateway.pools.memory import MemoryPools
from sie.gateway.pools.upkeep import LOOK_S, Upkeep, duties
from sie.runtime.service import running

ACME = PoolName("acme")
LANE = Lane(DEFAULT_POOL, MachineProfile("l4"), BundleName("default"))


def spec(ttl_seconds: int | None = None, **gpus: int) -> PoolSpec:
    return pool_spec("acme", gpus=gpus, gpu_caps={}, ttl_seconds=ttl_seconds)


def unix_s() -> float:
    return 1_000_000.0 + trio.current_time()


@attrs.define
class Stage:
    view: PoolView = attrs.field(factory=PoolView)
    workers: list[WorkerStatus] = attrs.field(factory=list)
    store: MemoryPools = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.store = MemoryPools(self.view)

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(self.view, self.store, Demand.over([LANE]), lambda: self.workers, unix_s)

    def state(self) -> str | None:
        shown = self.view.shown(ACME, unix_s())
        return None if shown is None else shown.state


async def test_a_lease_that_nobody_renews_expires_and_goes(autojump_clock: MockClock) -> None:
    stage = Stage(workers=[WorkerStatus(WorkerId("w1"), LANE, None, ready=True)])
    async with running(*duties(stage.upkeep)):
        await stage.store.put(spec(ttl_seconds=60), unix_s())
        await trio.sleep(59)
        assert stage.state() == "active"
        await trio.sleep(2)
        assert stage.state() == "expired"
        assert len(stage.view.assignment(ACME)) == 1
        await trio.sleep(SKEW_S + LOOK_S)
        assert stage.state() is None
        assert await stage.store.renew(ACME, unix_s()) is None


async def test_an_unnamed_time_is_twenty_minutes(autojump_clock: MockClock) -> None:
    stage = Stage()
    async with running(*duties(stage.upkeep)):
        await stage.store.put(spec(), unix_s())
        await trio.sleep(1199)
        assert stage.state() == "pending"
        await trio.sleep(1.5)
        assert stage.state() == "expired"


async def test_renewing_extends_for_as_long_as_it_goes_on(autojump_clock: MockClock) -> None:
    stage = Stage()
    async with running(*duties(stage.upkeep)):
        await stage.store.put(spec(ttl_seconds=60), unix_s())
        for _ in range(10):
            await trio.sleep(50)
            assert await stage.store.renew(ACME, unix_s()) is not None
        assert stage.state() == "pending"


async def test_a_pool_that_expired_can_be_renewed_until_it_goes(autojump_clock: MockClock) -> None:
    stage = Stage()
    async with running(*duties(stage.upkeep)):
        await stage.store.put(spec(ttl_seconds=10), unix_s())
        await trio.sleep(10 + SKEW_S / 2)
        assert stage.state() == "expired"
        await stage.store.renew(ACME, unix_s())
        assert stage.state() == "pending"
        await trio.sleep(SKEW_S)
        assert stage.state() == "pending"


async def test_a_pool_renewed_since_it_was_seen_is_not_removed(autojump_clock: MockClock) -> None:
    stage = Stage()
    seen = await stage.store.put(spec(ttl_seconds=10), unix_s())
    await trio.sleep(20)
    renewed = await stage.store.renew(ACME, unix_s())
    assert not await stage.store.expire(seen)
    assert stage.view.find(ACME) == renewed
    assert renewed is not None
    assert await stage.store.expire(renewed)
    assert not await stage.store.expire(renewed)
    assert stage.view.find(ACME) is None


async def test_putting_again_changes_and_renews_and_keeps_the_birthday(autojump_clock: MockClock) -> None:
    stage = Stage()
    first = await stage.store.put(spec(ttl_seconds=10, l4=1), unix_s())
    await trio.sleep(5)
    again = await stage.store.put(spec(ttl_seconds=30, a100=2), unix_s())
    assert again == Pool(spec(ttl_seconds=30, a100=2), first.created_s, first.renewed_s + 5)
    assert stage.view.find(ACME) == again


@pytest.mark.parametrize("change", [{"ready": False}, {"draining": True}])
async def test_a_worker_that_stops_taking_work_is_given_up(change: dict[str, bool], autojump_clock: MockClock) -> None:
    one = WorkerStatus(WorkerId("w1"), LANE, None, ready=True)
    stage = Stage()
    async with running(*duties(stage.upkeep)):
        await stage.store.put(spec(l4=1), unix_s())
        assert stage.state() == "pending"
        stage.workers = [one]
        await trio.sleep(LOOK_S + 0.1)
        assert stage.state() == "active"
        stage.workers = [attrs.evolve(one, ready=change.get("ready", True), draining=change.get("draining", False))]
        await trio.sleep(LOOK_S + 0.1)
        assert stage.state() == "pending"
        assert len(stage.view.assignment(ACME)) == 0
