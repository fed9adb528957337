"""The view shows what the store told last, in the state that the moment makes of it (§16.3)."""

from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from sie.domain.ids import PoolName
from sie.domain.pool import Pool, PoolSpec
from sie.domain.worker import WorkerStatus
from sie.gateway.core.assign import assign
from sie.gateway.core.pool_view import SKEW_S, PoolView

TOLD = st.lists(st.tuples(pool_strategies.specs(), st.floats(0, 100), st.booleans()), max_size=12)


@given(TOLD, pool_strategies.fleets(), st.floats(0, 300))
def test_the_view_shows_what_was_told_last(
    told: list[tuple[PoolSpec, float, bool]], fleet: list[WorkerStatus], now_s: float
) -> None:
    view, kept = PoolView(), dict[PoolName, Pool]()
    view.know(fleet)
    for spec, at_s, is_kept in told:
        if is_kept:
            kept[spec.name] = Pool(spec, at_s, at_s)
            view.kept(kept[spec.name])
        else:
            kept.pop(spec.name, None)
            view.gone(spec.name)
    expected = assign([pool.spec for pool in kept.values()], fleet)
    shown = list(view.all_shown(now_s))
    assert [one.pool for one in shown] == [kept[name] for name in sorted(kept)]
    assert {one.pool.spec.name: one.assignment for one in shown} == expected
    assert all((one.state == "expired") == one.pool.is_expired(now_s) for one in shown)
    assert len(view) == len(kept)


@given(TOLD, st.floats(0, 300))
def test_only_what_no_clock_can_still_hold_is_over(told: list[tuple[PoolSpec, float, bool]], now_s: float) -> None:
    view = PoolView()
    for spec, at_s, _ in told:
        view.kept(Pool(spec, at_s, at_s))
    over = {pool.spec.name for pool in view.over(now_s)}
    for shown in view.all_shown(now_s):
        assert (shown.pool.spec.name in over) == shown.pool.is_expired(now_s - SKEW_S)
        assert shown.state == "expired" or shown.pool.spec.name not in over


@given(TOLD, st.floats(0, 10**10), st.sets(st.sampled_from("abcd").map(PoolName)))
def test_a_protected_pool_stays_whatever_is_told_of_its_name(
    told: list[tuple[PoolSpec, float, bool]], now_s: float, queue_pools: set[PoolName]
) -> None:
    view = PoolView.with_protected(sorted(queue_pools), 0.0)
    before = {name: view.find(name) for name in (*queue_pools, PoolName("default"))}
    for spec, at_s, is_kept in told:
        if is_kept:
            view.kept(Pool(spec, at_s, at_s))
        else:
            view.gone(spec.name)
    assert {name: view.find(name) for name in before} == before
    assert all(pool is not None and pool.is_protected for pool in before.values())
    assert not {pool.spec.name for pool in view.over(now_s)} & set(before)
