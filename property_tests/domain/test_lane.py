"""A lane is told by its three names."""

from hypothesis import given

from sie.domain.lane import Lane
from sie.testing import strategies


@given(strategies.lanes, strategies.lanes)
def test_two_lanes_read_alike_only_if_they_are_one(first: Lane, second: Lane) -> None:
    assert (str(first) == str(second)) == (first == second)
