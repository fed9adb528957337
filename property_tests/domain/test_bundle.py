"""Bundles are tried in the order of their rank (§16.1)."""

from itertools import pairwise

from hypothesis import given

from sie.domain.bundle import Bundle
from sie.testing import strategies


@given(strategies.bundle_sets)
def test_rank_orders_by_priority_and_then_by_name(bundles: list[Bundle]) -> None:
    ranked = sorted(bundles, key=lambda bundle: bundle.rank)
    for better, worse in pairwise(ranked):
        assert better.priority <= worse.priority
        if better.priority == worse.priority:
            assert better.name < worse.name
