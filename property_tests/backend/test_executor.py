"""Each item of a batch gets one outcome, in its place, and that does not hang on its neighbours."""

from hypothesis import given
from hypothesis import strategies as st

from sie.backend.executor import run_batch
from sie.testing import strategies as sie_st
from sie.wire.ipc import EncodeBatch, EncodeItem, ItemOutcome
from tests.backend.scripted_adapter import Scripted

texts = st.sampled_from(("", "a", "raise", "nan", "exhaust")) | sie_st.texts.map("x{}".format)
items = st.builds(
    EncodeItem,
    item=st.fixed_dictionaries({"text": texts}, optional={"id": sie_st.texts}) | sie_st.json_maps,
    output_types=st.none() | st.lists(st.sampled_from(("dense", "sparse")), max_size=2).map(tuple),
    options=st.none() | st.fixed_dictionaries({}, optional={"output_dtype": st.sampled_from(("float32", "int8", 1))}),
    instruction=st.none() | sie_st.texts,
)


def outcomes_of(*asked: EncodeItem) -> tuple[ItemOutcome, ...]:
    return run_batch(Scripted(), EncodeBatch(id=1, serving_id="m", items=asked)).outcomes


@given(st.lists(items, max_size=6))
def test_an_items_outcome_is_the_one_it_gets_alone(asked: list[EncodeItem]) -> None:
    assert outcomes_of(*asked) == tuple(outcomes_of(item)[0] for item in asked)


@given(items)
def test_an_outcome_is_a_result_or_a_code_with_words(item: EncodeItem) -> None:
    (outcome,) = outcomes_of(item)
    assert (outcome.result_msgpack is None) == bool(outcome.error_code) == bool(outcome.error)
