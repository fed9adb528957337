"""A batch is of one kind, in order, ready, within its budget, and never empty while something ready waits."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from sie.testing import strategies as sie_st
from sie.worker.core.batching import MAX_BATCH_ITEMS, Candidate, budget_of, estimate_tokens, plan_batch

NAMES = ("a", "b", "c")
rows = st.tuples(st.sampled_from(NAMES), st.sampled_from(("encode", "score")), st.integers(0, 100))
waiting_lists = st.lists(rows, max_size=40).map(
    lambda drawn: [Candidate(order, *row) for order, row in enumerate(drawn)]
)
readies = st.frozensets(st.sampled_from(NAMES))
budget_maps = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 60))


@given(waiting_lists, readies, budget_maps)
def test_a_batch_is_of_one_ready_kind_in_order_and_within_its_budget(
    waiting: list[Candidate], ready: frozenset[str], budgets: Mapping[str, int]
) -> None:
    batch = plan_batch(waiting, ready, budgets)
    assert list(batch) == sorted(batch, key=lambda c: c.order)
    assert len({(c.serving_id, c.operation) for c in batch}) <= 1
    assert {c.serving_id for c in batch} <= ready
    assert len(batch) <= 1 or sum(c.tokens for c in batch) <= budget_of(batch[0].serving_id, budgets)
    assert len(batch) <= MAX_BATCH_ITEMS


@given(waiting_lists, readies, budget_maps)
def test_the_oldest_that_is_ready_always_goes_and_none_of_its_kind_is_overtaken(
    waiting: list[Candidate], ready: frozenset[str], budgets: Mapping[str, int]
) -> None:
    batch = plan_batch(waiting, ready, budgets)
    fitting = [c for c in waiting if c.serving_id in ready]
    assert bool(batch) == bool(fitting)
    if batch:
        kind = [c for c in fitting if (c.serving_id, c.operation) == (batch[0].serving_id, batch[0].operation)]
        assert batch == tuple(kind[: len(batch)])
        assert batch[0] == fitting[0]


@given(waiting_lists, budget_maps)
def test_planning_again_and_again_serves_everything(waiting: list[Candidate], budgets: Mapping[str, int]) -> None:
    rounds = 0
    while waiting:
        taken = plan_batch(waiting, NAMES, budgets)
        waiting = [c for c in waiting if c not in taken]
        rounds += 1
        assert rounds <= 40


@given(sie_st.texts, st.none() | st.integers(1, 512))
def test_an_estimate_is_positive_and_never_above_what_the_model_reads(text: str, limit: int | None) -> None:
    tokens = estimate_tokens({"text": text}, limit)
    assert tokens >= 1
    assert limit is None or tokens <= limit
    assert estimate_tokens({"text": 5}, limit) == estimate_tokens(None, limit) == estimate_tokens({}, limit)
