"""Ids are drawn from the world's randomness alone."""

import random
import time

import trio
from hypothesis import given
from hypothesis import strategies as st

from sie.runtime.world import Machine, real_machine


def seeded(seed: int) -> Machine:
    return Machine(time.time, random.Random(seed), real_machine(trio.Event()).run_in_thread, trio.Event())


@given(st.integers(), st.integers(1, 40))
def test_a_token_is_that_many_lowercase_hex_digits(seed: int, digits: int) -> None:
    token = seeded(seed).token(digits)
    assert len(token) == digits
    assert set(token) <= set("0123456789abcdef")


@given(st.integers())
def test_one_seed_gives_one_sequence_of_tokens(seed: int) -> None:
    first, second = seeded(seed), seeded(seed)
    assert [first.token() for _ in range(5)] == [second.token() for _ in range(5)]
