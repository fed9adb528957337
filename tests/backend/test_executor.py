"""One batch on a model: what is valid, what is said of the rest, and what an adapter's failure costs."""

from collections.abc import Mapping

import pytest

from sie.backend.executor import run_batch
from sie.wire.codec import unpack
from sie.wire.ipc import EncodeBatch, EncodeItem, Finished, ItemOutcome
from sie.wire.ndarray import array_from_wire
from tests.backend.scripted_adapter import Scripted


def batch(*items: EncodeItem) -> EncodeBatch:
    return EncodeBatch(id=7, serving_id="acme/small", items=items)


def text(words: str, **more: str) -> EncodeItem:
    return EncodeItem(item={"text": words, **more})


def run(*items: EncodeItem) -> Finished:
    return run_batch(Scripted(), batch(*items))


def blob(outcome: ItemOutcome) -> Mapping[str, object]:
    assert outcome.result_msgpack is not None
    value = unpack(outcome.result_msgpack)
    assert isinstance(value, dict)
    return value


def test_each_item_gets_its_own_vector_in_the_published_form() -> None:
    answer = run(text("ab"), text("abcd", id="mine"))
    first, second = map(blob, answer.outcomes)
    assert "id" not in first
    assert second["id"] == "mine"
    dense = second["dense"]
    assert isinstance(dense, dict)
    assert (dense["dims"], dense["dtype"]) == (2, "float32")
    assert array_from_wire(dense["values"]).tolist() == [4.0, 1.0]
    assert [outcome.input_tokens for outcome in answer.outcomes] == [3, 3]
    assert (answer.id, answer.tokenization_ms, answer.inference_ms, answer.postprocessing_ms) == (7, 1.0, 2.0, 0.5)


def test_the_instruction_reaches_the_adapter() -> None:
    (outcome,) = run(EncodeItem(item={"text": "ab"}, instruction="xyz")).outcomes
    dense = blob(outcome)["dense"]
    assert isinstance(dense, dict)
    assert array_from_wire(dense["values"]).tolist()[0] == 5.0


@pytest.mark.parametrize(
    ("item", "named"),
    [
        (EncodeItem(item={"text": "a"}, output_types=("dense", "sparse")), ("sparse", "dense")),
        (EncodeItem(item={"text": "a"}, options={"output_dtype": "int4"}), ("int4", "float32")),
        (EncodeItem(item={"images": []}), ("text", "images")),
        (EncodeItem(item={"text": 5}), ("text",)),
        (EncodeItem(item={}), ("text", "nothing")),
    ],
)
def test_an_item_that_asks_for_what_there_is_not_is_told_what_there_is(
    item: EncodeItem, named: tuple[str, ...]
) -> None:
    good, bad, also_good = run(text("a"), item, text("b")).outcomes
    assert good.result_msgpack is not None
    assert also_good.result_msgpack is not None
    assert bad.error_code == "INVALID_INPUT"
    assert all(name in (bad.error or "") for name in named)


def test_a_batch_of_invalid_items_does_not_reach_the_model() -> None:
    answer = run(EncodeItem(item={}))
    assert answer.inference_ms == 0.0
    assert [outcome.error_code for outcome in answer.outcomes] == ["INVALID_INPUT"]


def test_an_item_that_the_model_fails_on_does_not_fail_its_neighbours() -> None:
    answer = run(text("a"), text("raise"), text("b"))
    good, bad, also_good = answer.outcomes
    assert good.result_msgpack is not None
    assert also_good.result_msgpack is not None
    assert (bad.error_code, bad.error) == ("inference_error", "ValueError: cannot read 'raise'")
    assert answer.inference_ms == 4.0


def test_a_failure_alone_is_not_tried_twice() -> None:
    (outcome,) = run(text("raise")).outcomes
    assert outcome.error_code == "inference_error"


def test_a_batch_that_is_too_much_for_memory_runs_in_halves() -> None:
    encoder = Scripted()
    answer = run_batch(encoder, batch(*(text(f"wide {n}") for n in range(4)), text("a")))
    assert all(outcome.result_msgpack is not None for outcome in answer.outcomes)
    assert encoder.sizes == [5, 3, 2, 1, 1, 1, 2]
    assert answer.inference_ms == 2.0 * 4


def test_what_memory_is_too_little_for_alone_does_not_fail_its_neighbours() -> None:
    first, short, last = run(text("a"), text("exhaust"), text("b")).outcomes
    assert first.result_msgpack is not None
    assert last.result_msgpack is not None
    assert short.error_code == "RESOURCE_EXHAUSTED"


def test_running_out_of_memory_has_a_code_of_its_own() -> None:
    (outcome,) = run(text("exhaust")).outcomes
    assert outcome.error_code == "RESOURCE_EXHAUSTED"


def test_a_vector_that_is_not_finite_is_never_a_result() -> None:
    good, bad = run(text("a"), text("nan")).outcomes
    assert good.result_msgpack is not None
    assert (bad.result_msgpack, bad.error_code) == (None, "inference_error")


def test_an_empty_text_is_an_input_like_any_other() -> None:
    (outcome,) = run(text("")).outcomes
    assert outcome.result_msgpack is not None
