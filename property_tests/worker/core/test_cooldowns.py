"""The table of wire-facts 1.7, and that nobody rests shorter after one more failure."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.worker.core.cooldowns import (
    CLASSES,
    COOLDOWN_S,
    MAX_ATTEMPTS,
    MAX_COOLDOWN_S,
    PERMANENT,
    LoadFailure,
    cooldown_s,
    judge_failure,
)

TABLE = {"OOM": 60, "NETWORK": 30, "TIMEOUT": 30, "PLACEMENT": 30, "STORAGE": 60, "ENGINE": 30, "UNKNOWN": 600}
FOR_GOOD = ("GATED", "NOT_FOUND", "DEPENDENCY", "CONFIG")
temporary = st.sampled_from(sorted(COOLDOWN_S))


def rest_s(error_class: str | None, attempts: int) -> float:
    return cooldown_s(judge_failure(error_class, attempts, permanent=False))


@pytest.mark.parametrize(("error_class", "seconds"), TABLE.items())
def test_the_first_rest_is_that_of_the_class(error_class: str, seconds: float) -> None:
    assert rest_s(error_class, 1) == seconds


@pytest.mark.parametrize("error_class", FOR_GOOD)
def test_what_cannot_pass_by_itself_is_given_up_at_once(error_class: str) -> None:
    assert judge_failure(error_class, 1, permanent=False).permanent
    assert rest_s(error_class, 1) == math.inf


def test_each_class_rests_or_is_given_up() -> None:
    assert set(CLASSES) == {*TABLE, *FOR_GOOD}
    assert set(FOR_GOOD) == PERMANENT


@given(temporary, st.integers(1, MAX_ATTEMPTS - 2))
def test_each_rest_is_twice_the_one_before_within_the_bound(error_class: str, attempts: int) -> None:
    assert rest_s(error_class, attempts + 1) == min(2 * rest_s(error_class, attempts), MAX_COOLDOWN_S)


@given(temporary, st.integers(MAX_ATTEMPTS, 100))
def test_eight_failures_in_a_row_are_enough(error_class: str, attempts: int) -> None:
    assert rest_s(error_class, attempts) == math.inf
    assert rest_s(error_class, MAX_ATTEMPTS - 1) < math.inf


@given(st.text() | st.none(), st.integers(1, MAX_ATTEMPTS - 1), st.booleans())
def test_an_unknown_class_is_unknown_and_the_backends_word_counts(
    error_class: str | None, attempts: int, permanent: bool
) -> None:
    failure = judge_failure(error_class, attempts, permanent=permanent)
    if error_class not in CLASSES:
        assert failure == LoadFailure("UNKNOWN", attempts, permanent)
    assert failure.permanent or not permanent
