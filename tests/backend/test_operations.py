"""Each operation in the shapes that clients read (wire-facts 1.3, 1.5), and what is told where it cannot be done."""

from collections.abc import Mapping

import attrs
import numpy as np
import pytest

from sie.adapters.api import LoadedModel
from sie.backend.executor import run_batch
from sie.wire.codec import unpack
from sie.wire.ipc import EncodeBatch, EncodeItem, ItemOutcome
from sie.wire.ndarray import arrays_to_lists
from tests.backend.scripted_tasks import Counting, Everything, Finding


def run(model: LoadedModel, *items: EncodeItem) -> tuple[ItemOutcome, ...]:
    return run_batch(model, EncodeBatch(id=1, serving_id="acme/small", items=items)).outcomes


def score(*texts: object, query: Mapping[str, object] | None = None) -> EncodeItem:
    candidates = tuple({"text": text} for text in texts)
    return EncodeItem(item=query or {"text": "q"}, operation="score", candidates=candidates)


def extract(text: str, **more: object) -> EncodeItem:
    labels, schema = more.get("labels"), more.get("output_schema")
    assert labels is None or isinstance(labels, tuple)
    assert schema is None or isinstance(schema, dict)
    return EncodeItem(item={"id": "i", "text": text}, operation="extract", labels=labels, output_schema=schema)


def encode(*output_types: str, dtype: object = None) -> EncodeItem:
    return EncodeItem(item={"text": "a"}, output_types=output_types or None, options={"output_dtype": dtype})


def document(outcome: ItemOutcome) -> object:
    assert outcome.result_msgpack is not None, outcome.error
    return arrays_to_lists(unpack(outcome.result_msgpack))


def test_a_score_is_a_list_with_the_best_first_and_ties_in_their_order() -> None:
    item = EncodeItem(
        item={"text": "q"},
        operation="score",
        candidates=({"id": "low", "text": "1"}, {"text": "5"}, {"id": "same", "text": "5"}),
    )
    (outcome,) = run(Counting(), item)
    assert document(outcome) == [
        {"item_id": "item-1", "score": 5.0, "rank": 0},
        {"item_id": "same", "score": 5.0, "rank": 1},
        {"item_id": "low", "score": 1.0, "rank": 2},
    ]
    assert outcome.input_tokens == 7


def test_a_score_with_an_item_that_cannot_be_read_is_refused_whole_and_alone() -> None:
    good, bad, empty, no_query = run(Counting(), score("1"), score("1", 5), score(), score("1", query={"images": []}))
    assert good.result_msgpack is not None
    assert [one.error_code for one in (bad, empty, no_query)] == ["INVALID_INPUT"] * 3
    assert "item 1 must have a string under 'text'" in (bad.error or "")
    assert "at least one item" in (empty.error or "")
    assert "the query must have a string under 'text'; this one has 'images'" in (no_query.error or "")


def test_a_score_that_is_no_number_is_a_fault_of_the_model() -> None:
    (outcome,) = run(Counting(), score("1", "nan"))
    assert (outcome.result_msgpack, outcome.error_code) == (None, "inference_error")


def test_entities_are_told_with_their_place_in_the_text() -> None:
    (outcome,) = run(Finding(), extract("Ada writes"))
    entity = {"text": "Ada", "label": "WORD", "score": 1.0, "start": 0, "end": 3}
    assert document(outcome) == {"id": "i", "entities": [entity]}


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (extract("a", labels=()), "labels must name 1 to 1000, not 0"),
        (extract("a", labels=("x",) * 1001), "labels must name 1 to 1000, not 1001"),
        (extract("a", output_schema={"type": "object"}), "output_schema is not read by this model"),
        (EncodeItem(item={"text": "a"}, operation="extract", instruction="find"), "instruction is not read"),
    ],
    ids=["none", "many", "schema", "instruction"],
)
def test_what_an_extractor_does_not_read_is_refused_in_words(item: EncodeItem, words: str) -> None:
    good, bad = run(Finding(), extract("a"), item)
    assert good.result_msgpack is not None
    assert bad.error_code == "INVALID_INPUT"
    assert words in (bad.error or "")


def test_an_input_that_a_model_refuses_has_its_code_and_does_not_fail_its_neighbours() -> None:
    good, bad, also_good = run(Finding(), extract("a"), extract("huge"), extract("b"))
    assert good.result_msgpack is not None
    assert also_good.result_msgpack is not None
    assert (bad.error_code, bad.error) == ("INPUT_TOO_LONG", "the text is too long")


@pytest.mark.parametrize(
    ("model", "item", "words"),
    [
        (Counting(), encode(), "does not encode; it does score"),
        (Everything(), score("1"), "does not score; it does encode"),
        (Everything(), extract("a"), "does not extract; it does encode"),
    ],
)
def test_an_operation_that_the_adapter_has_no_method_for_is_told(
    model: LoadedModel, item: EncodeItem, words: str
) -> None:
    for outcome in run(model, item, item):
        assert outcome.error_code == "INVALID_INPUT"
        assert words in (outcome.error or "")


def test_every_output_that_is_asked_for_has_its_own_shape() -> None:
    (outcome,) = run(Everything(), encode("sparse", "multivector", "dense"))
    assert document(outcome) == {
        "dense": {"dims": 3, "dtype": "float32", "values": [0.5, -0.25, 0.0]},
        "sparse": {"dims": 9, "dtype": "float32", "indices": [2, 5], "values": [1.5, 0.5]},
        "multivector": {
            "token_dims": 2,
            "num_tokens": 3,
            "dtype": "float32",
            "values": [[1.0, -1.0], [0.5, 0.25], [0.0, 2.0]],
        },
    }


def test_without_output_types_a_model_gives_its_first_output() -> None:
    (outcome,) = run(Everything(), encode())
    assert document(outcome) == {"dense": {"dims": 3, "dtype": "float32", "values": [0.5, -0.25, 0.0]}}


@pytest.mark.parametrize(
    ("dtype", "told", "values"),
    [
        ("float16", "float16", [0.5, -0.25, 0.0]),
        ("int8", "int8", [127, -64, 0]),
        ("uint8", "uint8", [255, 0, 85]),
        ("binary", "binary", [0b10000000]),
        ("ubinary", "binary", [0b10000000]),
    ],
)
def test_dense_vectors_come_in_the_dtype_that_is_asked_for(dtype: str, told: str, values: list[float]) -> None:
    (outcome,) = run(Everything(), encode(dtype=dtype))
    assert document(outcome) == {"dense": {"dims": 3, "dtype": told, "values": values}}


def test_a_sparse_vector_stays_in_floats_and_a_profile_has_a_dtype_of_its_own() -> None:
    packed, asked = run(Everything(output_dtype="binary"), encode("dense", "sparse"), encode(dtype="float16"))
    assert document(packed) == {
        "dense": {"dims": 3, "dtype": "binary", "values": [128]},
        "sparse": {"dims": 9, "dtype": "float32", "indices": [2, 5], "values": [1.5, 0.5]},
    }
    assert document(asked) == {"dense": {"dims": 3, "dtype": "float16", "values": [0.5, -0.25, 0.0]}}


def test_an_output_that_is_not_finite_is_a_fault_of_the_model_unless_nobody_asked_for_it() -> None:
    row = attrs.evolve(Everything().row, multivector=np.array([[np.inf, 0.0]], np.float32))
    asked, unasked = run(Everything(row), encode("multivector"), encode("dense"))
    assert (asked.result_msgpack, asked.error_code) == (None, "inference_error")
    assert unasked.result_msgpack is not None
