"""MaxSim against its definition, one pair of tokens at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.adapters.api import Vector
from sie.adapters.tasks.max_sim import max_sim


def matrix(rows: int, random: np.random.Generator) -> Vector:
    return random.normal(size=(rows, 3)).astype(np.float32)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 5))
def test_a_score_is_the_sum_of_each_query_tokens_best_match(seed: int, query_rows: int, text_rows: int) -> None:
    random = np.random.default_rng(seed)
    query, text = matrix(query_rows, random), matrix(text_rows, random)
    best = [max((float(token @ other) for other in text), default=0.0) for token in query]
    assert max_sim(query, text) == pytest.approx(sum(best), abs=1e-4)
