"""When to list again, and how long to wait: bounded, never a hot loop, never before the server's Retry-After."""

from hypothesis import given
from hypothesis import strategies as st

from sie.kube.core.errors import (
    MAX_RETRY_AFTER_S,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from sie.kube.core.rewatching import CAP_S, FIRST_S, HEALTHY_S, RELIST_AFTER, WATCH_S, Ended, decide_next, decide_span_s

KINDS = (Gone, Unavailable, TooManyRequests, Forbidden, Unauthorized, Invalid, NotFound)
errors: st.SearchStrategy[KubeError] = st.builds(
    lambda kind, after: kind("why", after), st.sampled_from(KINDS), st.none() | st.floats(0, MAX_RETRY_AFTER_S)
)
luck = st.floats(0, 1, exclude_max=True)
ends = st.builds(Ended, st.integers(0, 3), st.floats(0, 100), st.none() | errors)


@given(ends, st.integers(0, 1000), luck)
def test_a_wait_is_bounded_and_heeds_the_server(ended: Ended, failures: int, luck: float) -> None:
    decided = decide_next(ended, failures, luck)
    asked_s = (ended.error.retry_after_s if ended.error else None) or 0.0
    assert asked_s <= decided.wait_s <= max(CAP_S, MAX_RETRY_AFTER_S * 1.1)


@given(ends, st.integers(0, 1000), luck)
def test_only_a_watch_that_was_one_goes_on_at_once(ended: Ended, failures: int, luck: float) -> None:
    decided = decide_next(ended, failures, luck)
    if decided.wait_s == 0:
        assert ended.error is None
        assert ended.lasted_s >= HEALTHY_S
    else:
        assert decided.wait_s >= FIRST_S / 2
    if decided.failures == 0:
        assert ended.error is None
        assert ended.heard or ended.lasted_s >= HEALTHY_S
        assert not decided.relist


@given(st.lists(st.builds(Ended, st.just(0), st.floats(0, 1), st.none() | errors), min_size=RELIST_AFTER), luck)
def test_failures_in_a_row_wait_longer_and_end_in_a_listing(ends: list[Ended], luck: float) -> None:
    failures, waits = 0, []
    for ended in ends:
        decided = decide_next(Ended(0, ended.lasted_s, ended.error and type(ended.error)("why")), failures, luck)
        failures = decided.failures
        waits.append(decided.wait_s)
        assert decided.relist or failures < RELIST_AFTER
    assert waits == sorted(waits)
    assert failures == len(ends)


@given(st.sampled_from(KINDS), st.integers(0, RELIST_AFTER - 2), luck)
def test_what_the_server_no_longer_knows_is_listed_and_a_pause_is_not(
    kind: type[KubeError], failures: int, luck: float
) -> None:
    decided = decide_next(Ended(0, 0.0, kind("why")), failures, luck)
    assert decided.relist is (kind not in (Unavailable, TooManyRequests))


@given(luck)
def test_a_watch_asks_for_about_a_minute(luck: float) -> None:
    assert WATCH_S / 2 <= decide_span_s(luck) <= WATCH_S * 1.5
