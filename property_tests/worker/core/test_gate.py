"""The gate, over any pools: only a trusted reading opens a named pool, and nothing closes the default one (§16.3)."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import DEFAULT_POOL, BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.wire.pool_listing import ListedPool
from sie.worker.core.gate import ADMITTED, TRUST_S, Gate, NotAssigned, Unknown

WORKERS = tuple(map(WorkerId, ("w0", "w1", "w2")))
NAMES = ("default", "static", "acme", "beta")
PROFILES = ("l4", "a100")
listed = st.builds(
    ListedPool,
    st.sampled_from(NAMES),
    st.sampled_from(NAMES[:2]),
    st.dictionaries(st.sampled_from(PROFILES), st.integers(0, 2), max_size=2),
    st.frozensets(st.sampled_from(WORKERS)),
    st.lists(st.sampled_from("xyz"), max_size=2, unique=True).map(tuple),
)
listings = st.lists(listed, unique_by=lambda pool: pool.name, max_size=4)
lanes = st.builds(
    Lane,
    st.sampled_from(NAMES[:2]).map(PoolName),
    st.sampled_from(("l4", "A100", "h100")).map(MachineProfile),
    st.just(BundleName("default")),
)
times = st.floats(0, 1e9)
asked = st.sampled_from((*NAMES, "ACME", "Default", ""))


def gate_of(lane: Lane, pools: Iterable[ListedPool] | None, *, is_polled: bool = True) -> Gate:
    gate = Gate(WORKERS[0], lane, is_polled=is_polled)
    if pools is not None:
        gate.receive(pools, now_s=0)
    return gate


@given(lanes, listings, asked, st.floats(0, TRUST_S))
def test_while_a_reading_is_trusted_a_pool_other_than_the_queues_own_is_open_to_those_it_assigns(
    lane: Lane, pools: list[ListedPool], name: str, now_s: float
) -> None:
    verdict = gate_of(lane, pools).judge(name, now_s=now_s)
    found = next((pool for pool in pools if pool.name == name.lower()), None)
    if name.lower() in ("", lane.pool):
        return
    if found is None:
        assert isinstance(verdict, Unknown)
    elif WORKERS[0] in found.workers:
        assert verdict == ADMITTED
    else:
        assert isinstance(verdict, NotAssigned)


@given(lanes, st.none() | listings, asked, st.floats(TRUST_S, 1e9, exclude_min=True))
def test_without_a_trusted_reading_the_default_pool_is_open_and_all_that_tenants_made_are_closed(
    lane: Lane, pools: list[ListedPool] | None, name: str, now_s: float
) -> None:
    gate = gate_of(lane, pools)
    verdict = gate.judge(name, now_s=now_s)
    if name.lower() == DEFAULT_POOL or (name == "" and lane.pool == DEFAULT_POOL):
        assert verdict == ADMITTED
    elif name not in ("", lane.pool):
        assert isinstance(verdict, Unknown)


@given(lanes, listings, times)
def test_a_queue_pool_of_its_own_is_closed_until_it_is_known_and_then_where_it_caps_this_workers_profile(
    lane: Lane, pools: list[ListedPool], now_s: float
) -> None:
    before, after = gate_of(lane, None), gate_of(lane, pools)
    is_base = lane.pool == DEFAULT_POOL
    assert (before.judge(lane.pool, now_s=now_s) == ADMITTED) == is_base
    found = next((pool for pool in pools if pool.name == lane.pool), None)
    is_free = found is not None and lane.machine_profile.lower() not in found.caps
    has_ours = found is not None and WORKERS[0] in found.workers and now_s <= TRUST_S
    assert (after.judge(lane.pool, now_s=now_s) == ADMITTED) == (is_base or is_free or has_ours)
    assert after.judge("", now_s=now_s) == after.judge(lane.pool, now_s=now_s)


@given(lanes, asked, times)
def test_where_nobody_is_asked_only_the_queues_own_pool_and_the_default_one_are_open(
    lane: Lane, name: str, now_s: float
) -> None:
    gate = gate_of(lane, None, is_polled=False)
    assert (gate.judge(name, now_s=now_s) == ADMITTED) == (name.lower() in ("", lane.pool, DEFAULT_POOL))
    assert gate.may_pull(now_s=now_s)
    assert gate.pinned() == frozenset()


@given(lanes, st.none() | listings, times)
def test_a_worker_pulls_where_its_queue_has_anything_that_it_may_run(
    lane: Lane, pools: list[ListedPool] | None, now_s: float
) -> None:
    gate = gate_of(lane, pools)
    backed = (pool for pool in pools or () if pool.queue_pool == lane.pool and WORKERS[0] in pool.workers)
    names = (lane.pool, *(pool.name for pool in backed))
    assert gate.may_pull(now_s=now_s) == any(gate.judge(name, now_s=now_s) == ADMITTED for name in names)


@given(lanes, listings, listings)
def test_pinned_is_what_the_last_reading_pins_in_the_pools_of_this_queue_that_assign_this_worker(
    lane: Lane, before: list[ListedPool], pools: list[ListedPool]
) -> None:
    gate = gate_of(lane, before)
    gate.receive(pools, now_s=1)
    ours = [pool for pool in pools if pool.queue_pool == lane.pool and WORKERS[0] in pool.workers]
    assert gate.pinned() == {model for pool in ours for model in pool.pinned}
