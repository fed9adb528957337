"""Whatever the history, the model keeps what JetStream promises of a work queue."""

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sie.testing.broker.comparing import run_on_model
from sie.testing.broker.histories import histories
from sie.testing.broker.shrinking import History
from sie.testing.broker.steps import from_json, to_json
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


@given(histories(40, "own"))
def test_no_step_hears_one_delivery_twice(history: History) -> None:
    for line in run_on_model("h", history):
        heard = re.findall(r"'\.\S+ (\d+ try \d+) ", line)
        assert len(heard) == len(set(heard))


@given(histories(40, "own"))
def test_a_history_comes_out_the_same_twice_and_from_its_file(history: History) -> None:
    assert run_on_model("h", from_json(to_json(history))) == run_on_model("h", history)
