"""A request that asks for a dense vector of a size of its own: given, or told what exists."""

import attrs
import numpy as np
import pytest

from sie.adapters.matryoshka import Sizes
from sie.backend.executor import run_items
from sie.wire.codec import unpack
from sie.wire.ipc import EncodeItem, ItemOutcome
from sie.wire.ndarray import arrays_to_lists
from tests.backend.scripted_tasks import Everything


@attrs.frozen(eq=False)
class Sized(Everything):
    dense_sizes: Sizes = attrs.field(factory=lambda: Sizes(3, (2,)))


def asked(*each: object, outputs: tuple[str, ...] | None = None) -> list[EncodeItem]:
    options = ({"dimensions": one} for one in each)
    return [EncodeItem(item={"text": "a"}, output_types=outputs, options=one) for one in options]


def dense_of(outcome: ItemOutcome) -> dict[str, object]:
    assert outcome.result_msgpack is not None, outcome.error
    told = arrays_to_lists(unpack(outcome.result_msgpack))
    assert isinstance(told, dict)
    dense = told["dense"]
    assert isinstance(dense, dict)
    return dense


def test_each_item_of_a_batch_has_the_size_that_it_asked_for() -> None:
    small, native, unasked = map(dense_of, run_items(Sized(), asked(2, 3, None)).each)
    assert small["dims"] == 2
    assert small["values"] == pytest.approx(np.array([0.5, -0.25]) / np.hypot(0.5, 0.25))
    assert native == unasked == {"dims": 3, "dtype": "float32", "values": [0.5, -0.25, 0.0]}


def test_a_cut_vector_is_quantised_after_it_was_cut() -> None:
    item = EncodeItem(item={"text": "a"}, options={"dimensions": 2, "output_dtype": "int8"})
    (outcome,) = run_items(Sized(), [item]).each
    assert dense_of(outcome) == {"dims": 2, "dtype": "int8", "values": [127, -64]}


@pytest.mark.parametrize("size", [1, 4, "2", True])
def test_a_size_that_does_not_exist_is_a_bad_input_that_names_those_that_do(size: object) -> None:
    wrong, right = run_items(Sized(), asked(size, 2)).each
    assert wrong.error_code == "INVALID_INPUT"
    assert wrong.error == f"dimensions {size!r} do not exist in this model; it has 2, 3"
    assert dense_of(right)["dims"] == 2


def test_the_other_outputs_keep_their_sizes() -> None:
    (outcome,) = run_items(Sized(), asked(2, outputs=("dense", "multivector"))).each
    assert outcome.result_msgpack is not None
    told = arrays_to_lists(unpack(outcome.result_msgpack))
    assert isinstance(told, dict)
    assert (told["dense"]["dims"], told["multivector"]["token_dims"]) == (2, 2)


def test_a_model_of_one_size_refuses_the_question() -> None:
    (outcome,) = run_items(Everything(), asked(2)).each
    assert (outcome.error_code, outcome.result_msgpack) == ("INVALID_INPUT", None)
    assert outcome.error == "dimensions cannot be chosen here: the model gives dense, sparse, multivector in one size"
