"""Bundles are tried in the order of their rank (§16.1)."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.bundle import Bundle, BundleSet, misplaced_adapters
from sie.testing import strategies


@given(strategies.bundle_sets)
def test_rank_orders_by_priority_and_then_by_name(bundles: list[Bundle]) -> None:
    ranked = sorted(bundles, key=lambda bundle: bundle.rank)
    for better, worse in pairwise(ranked):
        assert better.priority <= worse.priority
        if better.priority == worse.priority:
            assert better.name < worse.name


@given(strategies.bundle_sets, st.sampled_from((*strategies.ADAPTERS, strategies.FOREIGN_ADAPTER)))
def test_the_bundles_that_run_a_module_are_those_that_list_it_best_first(bundles: list[Bundle], module: str) -> None:
    expected = sorted((b for b in bundles if module in b.adapters), key=lambda b: b.rank)
    assert BundleSet.of(bundles).running(module) == tuple(b.name for b in expected)


@given(strategies.bundle_sets)
def test_a_set_of_bundles_is_in_their_order(bundles: list[Bundle]) -> None:
    found = BundleSet.of(bundles)
    assert tuple(found.by_name) == found.ranked(b.name for b in bundles * 2)
    assert list(found.by_name.values()) == sorted(bundles, key=lambda b: b.rank)
    assert found.running(None) == ()


@given(strategies.bundles)
def test_each_adapter_belongs_to_one_of_the_engines(bundle: Bundle) -> None:
    assert misplaced_adapters(bundle.engine, bundle.adapters) == ()
    other = "pytorch" if bundle.engine == "candle" else "candle"
    assert misplaced_adapters(other, bundle.adapters) == bundle.adapters
