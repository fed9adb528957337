"""A rate is what came within the window, over its length, and nothing older."""

from hypothesis import given
from hypothesis import strategies as st

from sie.gateway.core.rate import WINDOW_S, Rate


@given(st.lists(st.floats(0, 5), max_size=60), st.floats(0, 30))
def test_a_rate_counts_the_window_and_no_more(gaps_s: list[float], after_s: float) -> None:
    rate, now_s, came = Rate(), 0.0, list[float]()
    for gap_s in gaps_s:
        now_s += gap_s
        rate.count(now_s)
        came.append(now_s)
    now_s += after_s
    in_window = sum(int(now_s) - WINDOW_S < int(at_s) for at_s in came)
    assert rate.per_second(now_s) == in_window / WINDOW_S
