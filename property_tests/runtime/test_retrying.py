"""A backoff never falls and never passes its cap."""

from itertools import islice, pairwise

from hypothesis import given
from hypothesis import strategies as st

from sie.runtime.retrying import Backoff

SECONDS = st.floats(0.001, 1e6)
BACKOFFS = st.builds(Backoff, initial_s=SECONDS, cap_s=SECONDS, factor=st.floats(1.0, 100.0))
MANY = 200


@given(BACKOFFS)
def test_delays_never_fall_and_never_pass_the_cap(backoff: Backoff) -> None:
    delays = list(islice(backoff.delays(), MANY))
    assert all(earlier <= later for earlier, later in pairwise(delays))
    assert all(0 < delay <= backoff.cap_s for delay in delays)


@given(BACKOFFS)
def test_the_first_wait_is_the_initial_one_unless_the_cap_is_less(backoff: Backoff) -> None:
    assert next(backoff.delays()) == min(backoff.initial_s, backoff.cap_s)


@given(BACKOFFS)
def test_below_the_cap_each_wait_is_the_last_times_the_factor(backoff: Backoff) -> None:
    for earlier, later in pairwise(islice(backoff.delays(), MANY)):
        assert later == min(earlier * backoff.factor, backoff.cap_s)


@given(SECONDS, SECONDS, st.floats(1.1, 10.0))
def test_the_cap_is_reached(initial_s: float, cap_s: float, factor: float) -> None:
    assert cap_s in set(islice(Backoff(initial_s, cap_s, factor).delays(), 10 * MANY))
