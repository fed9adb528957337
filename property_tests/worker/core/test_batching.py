"""An estimate is positive, bounded by what the model reads, and grows with the text."""

from hypothesis import given
from hypothesis import strategies as st

from sie.testing import strategies as sie_st
from sie.worker.core.batching import BATCH_FACTOR, budget_of, estimate_tokens


@given(sie_st.texts, st.none() | st.integers(1, 512))
def test_an_estimate_is_positive_and_never_above_what_the_model_reads(text: str, limit: int | None) -> None:
    tokens = estimate_tokens({"text": text}, limit)
    assert tokens >= 1
    assert limit is None or tokens <= limit
    assert estimate_tokens({"text": 5}, limit) == estimate_tokens(None, limit) == estimate_tokens({}, limit)


@given(sie_st.texts, sie_st.texts)
def test_a_longer_text_is_not_estimated_as_less(text: str, more: str) -> None:
    assert estimate_tokens({"text": text}, None) <= estimate_tokens({"text": text + more}, None)


@given(sie_st.texts)
def test_a_text_that_no_encoding_has_is_estimated_all_the_same(text: str) -> None:
    assert estimate_tokens({"text": text + "\ud800"}, None) >= 1


@given(st.dictionaries(st.sampled_from("ab"), st.integers(1, 60)))
def test_a_budget_is_the_profiles_and_the_same_for_all_that_name_none(budgets: dict[str, int]) -> None:
    assert all(budget_of(name, budgets) == BATCH_FACTOR * tokens for name, tokens in budgets.items())
    assert budget_of("x", budgets) == budget_of("y", {}) > 0
