"""Arrays travel in the published form, bit for bit, and no bad one is taken (wire-facts 1.4)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.codec import pack, unpack
from sie.wire.converters import WireError
from sie.wire.ndarray import MAX_DIMS, Array, array_from_wire, array_to_wire, arrays_to_lists, is_array
from tests.wire.refusals import problems_of


def form(**changes: object) -> dict[object, object]:
    """A good map of two float32 with some entries changed."""
    good = {"nd": True, "type": "<f4", "kind": b"", "shape": [2], "data": b"\0" * 8}
    return {key.encode(): value for key, value in {**good, **changes}.items()}


@given(strategies.arrays)
def test_an_array_comes_back_bit_for_bit_through_msgpack(array: Array) -> None:
    packed = unpack(pack(array_to_wire(array)))
    assert isinstance(packed, dict)
    assert is_array(packed)
    read = array_from_wire(packed)
    assert (read.dtype, read.shape, read.tobytes()) == (array.dtype, array.shape, array.tobytes())


@given(strategies.arrays)
def test_any_memory_order_is_sent_in_c_order(array: Array) -> None:
    assert array_to_wire(np.array(array, order="F")) == array_to_wire(array)
    assert array_to_wire(array.T) == array_to_wire(np.array(array.T, order="C"))


@given(strategies.arrays)
def test_the_json_form_is_nested_lists(array: Array) -> None:
    document = arrays_to_lists({"a": [array_to_wire(array)]})
    assert isinstance(document, dict)
    np.testing.assert_array_equal(document["a"], [array.tolist()])


@given(strategies.json_values)
def test_a_document_without_arrays_is_its_own_json_form(value: Json) -> None:
    assert arrays_to_lists(value) == value


@given(strategies.arrays)
def test_a_map_with_text_keys_is_no_array(array: Array) -> None:
    assert not is_array({key.decode(): value for key, value in array_to_wire(array).items()})


@given(strategies.arrays)
def test_a_scalar_map_is_its_value(array: Array) -> None:
    values = [value.tobytes() for value in array.reshape(-1)[..., np.newaxis]]
    scalars = [{b"nd": False, b"type": array.dtype.str, b"data": data} for data in values]
    np.testing.assert_array_equal(arrays_to_lists(scalars), array.reshape(-1).tolist())


@given(st.lists(st.integers(0, 2**70), max_size=MAX_DIMS), st.binary(max_size=16))
def test_a_length_that_does_not_fit_the_shape_is_refused(shape: list[int], data: bytes) -> None:
    told = problems_of(array_from_wire, form(shape=shape, data=data))
    assert told or len(data) == 4 * math.prod(shape)
    assert {problem.loc for problem in told} <= {("data",), ("shape",)}


@given(
    st.text(max_size=4).filter(lambda text: text not in strategies.DTYPES)
    | strategies.json_scalars.filter(lambda value: not isinstance(value, str))
)
def test_a_dtype_outside_the_list_is_refused(kind: object) -> None:
    with pytest.raises(WireError, match=r"^type: an array of type"):
        array_from_wire(form(type=kind))


@pytest.mark.parametrize("shape", [None, 2, (2,), ["2"], [2.0], [True, 2], [-2], [1] * 9, {}])
def test_a_shape_that_is_no_list_of_lengths_is_refused(shape: object) -> None:
    with pytest.raises(WireError, match=r"^shape: "):
        array_from_wire(form(shape=shape))


@pytest.mark.parametrize("changes", [{"kind": b"V"}, {"kind": b"O"}, {"complex": True}])
def test_structured_object_and_complex_arrays_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(WireError, match=r"^type: "):
        array_from_wire(form(**changes))


@pytest.mark.parametrize("data", [None, "12345678", b"", b"\0" * 7, b"\0" * 9])
def test_data_that_is_not_the_shapes_bytes_is_refused(data: object) -> None:
    with pytest.raises(WireError, match=r"^data: must be 8 bytes for shape \[2\]"):
        array_from_wire(form(data=data))


@pytest.mark.parametrize("array", [np.zeros(2, "c8"), np.zeros(2, "U3"), np.zeros(2, "O"), np.zeros((1,) * 9, "f4")])
def test_an_array_without_a_wire_form_is_not_sent(array: Array) -> None:
    with pytest.raises(TypeError, match="has no wire form"):
        array_to_wire(array)
