"""A batch waits where that costs nobody anything: never for a lone request, and an idle device for a moment only."""

from typing import TypeAlias

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.worker.core.batching import Candidate, Kind
from sie.worker.core.turns import Outlook
from sie.worker.core.waiting import HAND_OVER_S, MAX_IDLE_S, NOW_S, Pace, Ran, expected_s

KIND: Kind = ("m", "encode")
Arrival: TypeAlias = tuple[float, int]
"""Seconds after the one before, and what the broker said to be behind it."""
arrivals = st.lists(st.tuples(st.floats(0, 0.01), st.integers(0, 300)), min_size=1, max_size=30)
tokens = st.integers(1, 5000)


@attrs.frozen
class Law:
    """A device that takes `fixed_s` for each batch and `each_s` for each token in it."""

    fixed_s: float
    each_s: float

    def took_s(self, tokens: int) -> float:
        return self.fixed_s + self.each_s * tokens


laws = st.builds(Law, st.floats(0, 0.5), st.floats(0, 0.001))


def outlook(items: int = 1, *, is_whole: bool = False) -> Outlook:
    return Outlook(KIND, items, is_whole, Candidate(1, *KIND, 1, ("g", "r")))


def seen(pace: Pace, came: list[Arrival], now_s: float) -> float:
    for gap_s, pending in came:
        now_s += gap_s
        pace.arrivals.add(pending=pending, now_s=now_s)
    return now_s


def run(pace: Pace, law: Law, batches: list[int], *, tokenizing_s: float = 0.0) -> float:
    """One after the other; when the last has ended."""
    now_s = 0.0
    for count in batches:
        running = pace.begin(KIND, 0, tokens=count, now_s=now_s)
        now_s += law.took_s(count)
        pace.end(running, tokenizing_s=tokenizing_s, now_s=now_s)
    return now_s


@given(laws, st.lists(tokens, max_size=10), arrivals, st.integers(1, 300))
def test_an_idle_device_waits_for_a_moment_at_most_and_not_where_nothing_is_behind(
    law: Law, batches: list[int], came: list[Arrival], items: int
) -> None:
    pace = Pace()
    now_s = seen(pace, came, run(pace, law, batches))
    wait_s = pace.go_at_s(outlook(items), 0, pulled_s=now_s, is_full=False) - now_s
    assert 0 <= wait_s <= MAX_IDLE_S + 1e-9
    assert wait_s <= 0 or came[-1][1] >= items


@given(laws, st.lists(tokens, max_size=10), arrivals, st.floats(2 * MAX_IDLE_S, 100))
def test_a_request_that_comes_after_a_pause_goes_at_once(
    law: Law, batches: list[int], came: list[Arrival], pause_s: float
) -> None:
    pace = Pace()
    now_s = seen(pace, came, run(pace, law, batches)) + pause_s
    pace.arrivals.add(pending=300, now_s=now_s)
    assert pace.go_at_s(outlook(), 0, pulled_s=now_s, is_full=False) <= now_s


@given(st.integers(1, 8), st.integers(1, 50))
def test_an_idle_device_waits_where_that_doubles_the_batch(batches: int, items: int) -> None:
    pace = Pace()
    now_s = seen(pace, [(0.00001, 300)] * 40, run(pace, Law(0.02, 0.0), [64] * batches))
    assert pace.go_at_s(outlook(items), 0, pulled_s=now_s, is_full=False) == now_s + MAX_IDLE_S


@given(laws, st.lists(tokens, max_size=10), st.booleans(), st.booleans(), tokens)
def test_what_cannot_grow_goes_at_once(
    law: Law, batches: list[int], is_whole: bool, is_busy: bool, running: int
) -> None:
    pace = Pace()
    now_s = seen(pace, [(0.00001, 300)] * 10, run(pace, law, batches))
    if is_busy:
        pace.begin(KIND, 0, tokens=running, now_s=now_s)
    assert pace.go_at_s(outlook(is_whole=is_whole), 0, pulled_s=now_s, is_full=not is_whole) == NOW_S


@given(laws, st.lists(tokens, max_size=10), tokens, st.floats(0, 0.1))
def test_a_busy_device_has_the_next_batch_before_it_is_idle(
    law: Law, batches: list[int], running: int, tokenizing_s: float
) -> None:
    pace = Pace()
    now_s = run(pace, law, batches, tokenizing_s=tokenizing_s)
    pace.begin(KIND, 0, tokens=running, now_s=now_s)
    go_s = pace.go_at_s(outlook(), 0, pulled_s=now_s, is_full=False)
    there_s = go_s + HAND_OVER_S + (tokenizing_s if batches else 0.0)
    assert there_s <= now_s + law.took_s(running) + 1e-6


@given(st.integers(1, 10), st.floats(0.02, 10))
def test_a_busy_device_is_made_use_of_to_gather(batches: int, took_s: float) -> None:
    """Most of its time, where every batch takes as long."""
    pace = Pace()
    now_s = run(pace, Law(took_s, 0.0), [64] * batches)
    pace.begin(KIND, 0, tokens=64, now_s=now_s)
    assert pace.go_at_s(outlook(), 0, pulled_s=now_s, is_full=False) >= now_s + took_s / 2


@given(tokens, tokens)
def test_of_a_kind_that_is_not_known_nothing_waits_for_the_end(running: int, other: int) -> None:
    pace = Pace()
    pace.begin(("other", "encode"), 0, tokens=other, now_s=1.0)
    pace.begin(KIND, 0, tokens=running, now_s=1.0)
    assert pace.go_at_s(outlook(), 0, pulled_s=1.0, is_full=False) <= 1.0


@given(st.lists(st.booleans(), max_size=30))
def test_batches_with_the_backend_are_counted_and_one_that_failed_tells_nothing(ends: list[bool]) -> None:
    pace = Pace()
    for number, succeeds in enumerate(ends):
        first = pace.begin(KIND, 0, tokens=1, now_s=number)
        second = pace.begin(KIND, 0, tokens=1, now_s=number)
        assert pace.running(0) == 2
        pace.end(second, tokenizing_s=0.0 if succeeds else None, now_s=number + 1.0)
        pace.end(first, tokenizing_s=None, now_s=number + 1.0)
        assert pace.running(0) == 0
    pace.begin(KIND, 0, tokens=1, now_s=100.0)
    goes_s = pace.go_at_s(outlook(), 0, pulled_s=0.0, is_full=False)
    assert (goes_s > 100.0) == any(ends)


@given(laws, st.lists(tokens, min_size=1, max_size=8), tokens)
def test_no_batch_is_expected_to_take_longer_than_it_does(law: Law, batches: list[int], count: int) -> None:
    ran = [Ran(one, law.took_s(one), 0.0) for one in batches]
    assert expected_s(ran, count) <= law.took_s(count) + 1e-9


@given(laws, tokens, tokens, st.floats(1, 1000))
def test_a_stall_does_not_count(law: Law, alike: int, count: int, stall_s: float) -> None:
    ran = [Ran(alike, law.took_s(alike), 0.0)] * 7
    assert expected_s([*ran, Ran(alike, stall_s, 0.0)], count) <= expected_s(ran, count) + 1e-9


@given(laws, st.lists(tokens, max_size=8), arrivals)
def test_what_one_device_does_holds_up_no_other(law: Law, batches: list[int], came: list[Arrival]) -> None:
    pace = Pace()
    now_s = seen(pace, came, run(pace, law, batches))
    before_s = pace.go_at_s(outlook(), 1, pulled_s=now_s, is_full=False)
    pace.begin(KIND, 0, tokens=1, now_s=now_s)
    assert pace.go_at_s(outlook(), 1, pulled_s=now_s, is_full=False) == before_s
    assert (pace.running(0), pace.running(1)) == (1, 0)
