"""Each is called once, at its time and in order, unless it ended before; nothing of what ended is kept (§8.2)."""

import math
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from sie.gateway.core.deadlines import Deadlines

LASTS_S = 6.0
STEPS = st.lists(st.tuples(st.floats(0.0, 10.0), st.sampled_from(["begin", "end", "look"]), st.integers(0, 20)))


@given(STEPS)
def test_who_is_due_and_has_not_ended_is_called_once(steps: list[tuple[float, str, int]]) -> None:
    deadlines, now_s = Deadlines(), 0.0
    due_s: dict[int, float] = {}
    called: list[int] = []
    for wait_s, step, pick in steps:
        now_s += wait_s
        match step:
            case "begin":
                mine = len(due_s) + len(called)
                number = deadlines.begin(now_s + LASTS_S, partial(called.append, mine))
                due_s[number] = now_s + LASTS_S
            case "end":
                deadlines.end(pick)
                due_s.pop(pick, None)
            case _:
                before = len(called)
                deadlines.expire(now_s)
                over = [number for number, at_s in due_s.items() if at_s <= now_s]
                assert len(called) - before == len(over)
                for number in over:
                    del due_s[number]
        assert deadlines.next_s == min(due_s.values(), default=math.inf)
        assert len(deadlines) == len(due_s)
    assert called == sorted(called)


@given(st.integers(1, 5))
def test_what_a_call_ends_or_begins_counts(count: int) -> None:
    deadlines, called = Deadlines(), list[int]()

    def call() -> None:
        called.append(len(called))
        deadlines.end(last)
        deadlines.begin(9.0, call)

    for _ in range(count):
        last = deadlines.begin(1.0, call)
    deadlines.expire(1.0)
    assert len(called) == (1 if count == 1 else count - 1)
    assert deadlines.next_s == 9.0
