"""Demand lasts for its time after it was last seen, for deployed lanes alone (§16.3)."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from sie.domain.ids import BundleName, MachineProfile, PoolName
from sie.domain.lane import Lane
from sie.domain.pool import PoolSpec
from sie.gateway.core.assign import assign
from sie.gateway.core.demand import DEMAND_S, Demand
from sie.testing import strategies

EVERY = [
    Lane(PoolName(pool), MachineProfile(profile), BundleName(bundle))
    for pool, profile, bundle in product(pool_strategies.QUEUE_POOLS, pool_strategies.PROFILES, pool_strategies.BUNDLES)
]
CATALOGUES = st.lists(st.sampled_from(EVERY), unique=True)
ASKED = st.sampled_from(EVERY) | strategies.lanes
STEPS = st.lists(st.tuples(ASKED, st.sampled_from(("record", "met")), st.floats(0, 90)), max_size=20)
PROFILES = st.none() | st.sampled_from(("l4", "A100")).map(MachineProfile)
BUNDLES = st.none() | st.sampled_from(("small", "Big")).map(BundleName)


@given(CATALOGUES, STEPS)
def test_demand_lasts_until_it_is_met_or_nobody_refreshes_it(
    catalogue: list[Lane], steps: list[tuple[Lane, str, float]]
) -> None:
    demand, seen_s, now_s = Demand.over(catalogue), dict[Lane, float](), 0.0
    for lane, what, gap_s in steps:
        now_s += gap_s
        if what == "met":
            demand.met(lane)
            seen_s.pop(lane, None)
        elif demand.record(lane, now_s):
            seen_s[lane] = now_s
        assert (lane in catalogue) or lane not in seen_s
        told = demand.pending(now_s)
        assert list(told) == catalogue
        assert told == {lane: lane in seen_s and now_s < seen_s[lane] + DEMAND_S for lane in catalogue}


@given(CATALOGUES, st.sampled_from(EVERY), st.booleans())
def test_a_lane_is_wanted_while_work_is_handed_over_to_it(catalogue: list[Lane], lane: Lane, is_met: bool) -> None:
    demand = Demand.over(catalogue)
    with demand.handing_over(lane), demand.handing_over(lane):
        assert demand.pending(0.0).get(lane, False) == (lane in catalogue)
        demand.met(lane) if is_met else demand.record(lane, 0.0)
    assert demand.pending(0.0).get(lane, False) == (lane in catalogue and not is_met)
    assert not demand._handoffs


@given(CATALOGUES, st.sampled_from(EVERY), st.floats(0, 10**6))
def test_a_lane_in_another_case_is_the_lane(catalogue: list[Lane], lane: Lane, now_s: float) -> None:
    demand = Demand.over(catalogue)
    loud = Lane(lane.pool, MachineProfile(lane.machine_profile.upper()), BundleName(lane.bundle.upper()))
    assert demand.record(loud, now_s) == (lane in catalogue) == demand.pending(now_s).get(lane, False)


@given(CATALOGUES, pool_strategies.specs(), PROFILES, BUNDLES, st.floats(0, 10**6))
def test_a_cold_pool_wakes_each_lane_whose_workers_it_would_hold(
    catalogue: list[Lane],
    spec: PoolSpec,
    profile: MachineProfile | None,
    bundle: BundleName | None,
    now_s: float,
) -> None:
    demand = Demand.over(catalogue)
    woken = demand.record_cold(spec, now_s, profile=profile, bundle=bundle)
    uncapped = PoolSpec(spec.name, gpus=dict.fromkeys(spec.profiles, 0), bundle=spec.bundle, queue_pool=spec.queue_pool)
    for lane in catalogue:
        is_asked = (profile is None or profile.lower() == lane.machine_profile) and (
            bundle is None or bundle.lower() == lane.bundle
        )
        fits = len(assign([uncapped], [pool_strategies.worker_on(lane)])[spec.name]) == 1
        assert (lane in woken) == (is_asked and fits)
    assert {lane for lane, waits in demand.pending(now_s).items() if waits} == set(woken)
