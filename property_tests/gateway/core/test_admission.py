"""What is in flight is what was taken and not ended; a lane refuses only where that is switched on (§2)."""

from contextlib import ExitStack

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.lane import Lane
from sie.gateway.core.admission import Lanes, Limits
from sie.testing import strategies

STEPS = st.lists(st.tuples(strategies.lanes, st.integers(1, 6), st.integers(0, 12), st.booleans()), max_size=30)


@given(STEPS, st.booleans(), st.integers(1, 10), st.integers(1, 10))
def test_admission_holds_its_limits_and_forgets_what_ended(
    steps: list[tuple[Lane, int, int, bool]], is_enforced: bool, most: int, pending: int
) -> None:
    lanes, held, decided = Lanes(Limits(pending, most, is_enforced)), list[tuple[Lane, int, ExitStack]](), 0
    for lane, items, waiting, ends_one in steps:
        if ends_one and held:
            held.pop(0)[2].close()
        in_flight = sum(count for other, count, _ in held if other == lane)
        assert lanes.in_flight(lane) == in_flight
        refused = lanes.judge(lane, items, stream_pending=waiting)
        decided += 1
        is_over = in_flight > 0 and in_flight + items > most
        assert (refused is not None) == (waiting >= pending or (is_over and is_enforced))
        if refused is None:
            stack = ExitStack()
            stack.enter_context(lanes.holding(lane, items))
            held.append((lane, items, stack))
    assert lanes.decisions.total() == decided
    for _, _, stack in held:
        stack.close()
    assert not lanes._items
