"""What a pool holds is decided by the facts alone: its filters and caps, and who is healthy (§16.3)."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from sie.domain.pool import Pool, PoolSpec
from sie.domain.worker import WorkerStatus
from sie.gateway.core.assign import Assignment, assign, claims_of, decide_state


def fits(spec: PoolSpec, status: WorkerStatus) -> bool:
    lane = status.lane
    return (
        status.takes_work
        and lane.pool == spec.queue_pool
        and (spec.bundle is None or lane.bundle.lower() == spec.bundle)
        and (not spec.profiles or lane.machine_profile.lower() in spec.profiles)
    )


def names(assignment: Assignment) -> set[str]:
    return {worker.name for worker in assignment.workers}


@given(pool_strategies.pools_of_specs(), pool_strategies.fleets())
def test_a_pool_holds_the_healthy_workers_that_fit_up_to_its_cap_of_each_profile(
    specs: list[PoolSpec], fleet: list[WorkerStatus]
) -> None:
    found = assign(specs, fleet)
    assert set(found) == {spec.name for spec in specs}
    for spec in specs:
        fitting = [status for status in fleet if fits(spec, status)]
        held = names(found[spec.name])
        assert held <= {status.worker for status in fitting}
        assert len(found[spec.name]) == len(held)
        for profile in spec.profiles:
            of_profile = {status.worker for status in fitting if status.lane.machine_profile.lower() == profile}
            cap = spec.gpu_caps.get(profile, len(of_profile))
            assert len(held & of_profile) == min(cap, len(of_profile))
        if not spec.profiles:
            assert held == {status.worker for status in fitting}


@given(pool_strategies.pools_of_specs(), pool_strategies.fleets(), st.data())
def test_two_gateways_with_the_same_facts_assign_the_same(
    specs: list[PoolSpec], fleet: list[WorkerStatus], data: st.DataObject
) -> None:
    other_specs, other_fleet = data.draw(st.permutations(specs)), data.draw(st.permutations(fleet))
    assert assign(specs, fleet) == assign(other_specs, other_fleet)


@given(pool_strategies.pools_of_specs(), pool_strategies.fleets().filter(len), st.data())
def test_a_worker_that_leaves_moves_nobody_else(
    specs: list[PoolSpec], fleet: list[WorkerStatus], data: st.DataObject
) -> None:
    """Where it was held, at most one more comes in; where it was not, nothing changes."""
    leaving = data.draw(st.sampled_from(fleet))
    before = assign(specs, fleet)
    after = assign(specs, [status for status in fleet if status is not leaving])
    for spec in specs:
        held, left = names(before[spec.name]), names(after[spec.name])
        assert held - {leaving.worker} <= left
        assert len(left - held) <= (leaving.worker in held)


@given(pool_strategies.fleets(), st.lists(pool_strategies.specs(), min_size=2, max_size=2))
def test_a_pool_is_assigned_whatever_other_pools_there_are(fleet: list[WorkerStatus], specs: list[PoolSpec]) -> None:
    one, other = specs
    alone = assign([one], fleet)[one.name]
    beside = assign([one, attrs.evolve(other, name=other.queue_pool)], fleet)[one.name]
    assert alone == beside


@given(st.lists(pool_strategies.specs(), min_size=2, max_size=2), pool_strategies.fleets())
def test_pools_without_a_cap_share_one_tuple(specs: list[PoolSpec], fleet: list[WorkerStatus]) -> None:
    one = attrs.evolve(specs[0], gpu_caps={})
    found = assign([one, attrs.evolve(one, name=one.queue_pool)], fleet)
    for mine, theirs in zip(found[one.name].shares, found[one.queue_pool].shares, strict=True):
        assert mine is theirs


@given(pool_strategies.specs(), pool_strategies.fleets(), st.floats(0, 200))
def test_a_pool_is_active_with_all_it_needs_and_pending_before(
    spec: PoolSpec, fleet: list[WorkerStatus], age_s: float
) -> None:
    pool, assignment = Pool(spec, 0.0, 0.0), assign([spec], fleet)[spec.name]
    held = [worker.profile for worker in assignment.workers]
    met = all(held.count(profile) >= count for profile, count in spec.gpus.items())
    expected = "active" if met and len(held) >= max(1, spec.minimum_worker_count) else "pending"
    expired = age_s >= (1200 if spec.ttl_seconds is None else spec.ttl_seconds)
    assert decide_state(pool, assignment, age_s) == ("expired" if expired else expected)


@given(pool_strategies.specs())
def test_there_is_one_claim_for_each_profile_that_is_named_or_one_for_all(spec: PoolSpec) -> None:
    claims = claims_of(spec)
    assert [claim.selection.profile for claim in claims] == list(spec.profiles or (None,))
    assert all(claim.cap is None or claim.cap >= claim.required for claim in claims)
