"""Whatever the history, the model keeps what JetStream promises of a work queue."""

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sie.testing.broker.comparing import run_on_model
from sie.testing.broker.histories import draw_history
from sie.testing.broker.subjects import Index, matches, overlap

tokens = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=4).map(".".join)
patterns = st.one_of(tokens, tokens.map(lambda pattern: f"{pattern}.>"))
subjects = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=5).map(".".join)


@given(st.lists(patterns, max_size=8), subjects)
def test_the_index_finds_just_the_patterns_that_match(wanted: list[str], subject: str) -> None:
    index = Index[str]()
    for pattern in wanted:
        index.add(pattern, pattern)
    assert Counter(index.find(subject)) == Counter(pattern for pattern in wanted if matches(pattern, subject))


@given(patterns, patterns, subjects)
def test_two_patterns_that_share_a_subject_overlap(one: str, other: str, subject: str) -> None:
    if matches(one, subject) and matches(other, subject):
        assert overlap(one, other)


@given(st.integers(0, 10_000))
def test_no_step_hears_one_delivery_twice(seed: int) -> None:
    for line in run_on_model("h", draw_history(str(seed), 40)):
        heard = re.findall(r"'\.\S+ (\d+ try \d+) ", line)
        assert len(heard) == len(set(heard))
