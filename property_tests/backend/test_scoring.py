"""A ranking holds every item once, the best first, and items of one score in the order that they came in."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sie.backend.scoring import ranking

scores = st.lists(st.sampled_from((-1.5, 0.0, 0.25, 0.5, 3.0)), max_size=30)


@given(scores)
def test_ranks_count_from_zero_down_the_scores_and_ties_keep_their_order(values: list[float]) -> None:
    ranked = ranking([{} for _ in values], np.array(values, np.float32))
    assert [row["rank"] for row in ranked] == list(range(len(values)))
    wanted = sorted(range(len(values)), key=lambda index: -values[index])
    assert [row["item_id"] for row in ranked] == [f"item-{index}" for index in wanted]
    assert [row["score"] for row in ranked] == [values[index] for index in wanted]


@given(st.lists(st.text(), max_size=10))
def test_an_items_own_id_is_told_as_it_is(ids: list[str]) -> None:
    items = [{"id": name, "text": ""} for name in ids]
    ranked = ranking(items, np.zeros(len(ids), np.float32))
    assert [row["item_id"] for row in ranked] == ids
