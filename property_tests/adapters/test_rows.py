"""The arrays of a batch hold each sequence once, where its slot says."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sie.adapters.packing import ladder, plan_batches
from sie.adapters.rows import pack_tokens, slots

sequences = st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=100), max_size=60)


@given(sequences)
def test_each_slot_leads_back_to_its_sequence_with_positions_from_zero(texts: list[list[int]]) -> None:
    for batch in plan_batches([len(text) for text in texts], ladder(100)).batches:
        types = [[number % 2 for number in text] for text in texts]
        ids, positions, segments, kinds = pack_tokens(batch, texts, types)
        for slot in slots(batch, texts):
            mine = segments[slot.row] == slot.segment + 1
            assert mine.nonzero()[0][0] == slot.start
            assert kinds[slot.row][mine].tolist() == types[slot.index]
            assert ids[slot.row][mine].tolist() == texts[slot.index]
            assert positions[slot.row][mine].tolist() == list(range(len(texts[slot.index])))


@given(sequences)
def test_padding_is_zero_in_ids_positions_segments_and_types(texts: list[list[int]]) -> None:
    plan = plan_batches([len(text) for text in texts], ladder(100))
    packed = [pack_tokens(batch, texts) for batch in plan.batches]
    assert sum(int(np.count_nonzero(tokens[2])) for tokens in packed) == plan.tokens
    assert all(not tokens[:, tokens[2] == 0].any() for tokens in packed)
