"""Each output dtype against its rule (wire-facts 1.5), written out here for one number at a time."""

import math

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from sie.adapters.api import OutputDtype, Vector
from sie.backend.quantizing import quantized, sparse_dtype, told_dtype

numbers = st.floats(-1e4, 1e4, width=32)
rows = st.lists(numbers, min_size=1, max_size=40)
dtypes: st.SearchStrategy[OutputDtype] = st.sampled_from(("float32", "float16", "int8", "uint8", "binary", "ubinary"))


def vector(row: list[float]) -> Vector:
    return np.array(row, np.float32)


@given(rows)
def test_int8_is_the_share_of_the_largest_magnitude_in_127_parts(row: list[float]) -> None:
    given_row, found = vector(row), quantized(vector(row), "int8")
    scale = np.abs(given_row).max()
    assert found.dtype == np.int8
    for value, number in zip(given_row.tolist(), found.tolist(), strict=True):
        assert abs(number - (value / scale * 127 if scale else 0)) <= 0.501
    assert not scale or max(abs(number) for number in found.tolist()) == 127


@given(rows)
def test_uint8_is_the_place_within_the_range_in_255_parts(row: list[float]) -> None:
    given_row, found = vector(row), quantized(vector(row), "uint8")
    low, high = float(given_row.min()), float(given_row.max())
    assert found.dtype == np.uint8
    for value, number in zip(given_row.tolist(), found.tolist(), strict=True):
        assert abs(number - ((value - low) / (high - low) * 255 if high > low else 128)) <= 0.501


@given(rows)
def test_packed_bits_say_which_numbers_are_above_zero_the_first_one_highest(row: list[float]) -> None:
    for dtype in ("binary", "ubinary"):
        found = quantized(vector(row), dtype)
        assert found.dtype == np.uint8
        assert len(found) == math.ceil(len(row) / 8)
        bits = "".join(f"{byte:08b}" for byte in found.tolist())
        assert bits == "".join("1" if value > 0 else "0" for value in row).ljust(len(bits), "0")


@given(rows)
def test_float16_is_the_nearest_there_is_and_float32_what_was_there(row: list[float]) -> None:
    found = quantized(vector(row), "float16")
    assert found.tolist() == np.array(row, np.float16).tolist()
    assert quantized(vector(row), "float32").tolist() == vector(row).tolist()


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), dtypes)
def test_a_finite_vector_has_a_finite_form_in_every_dtype(number: float, dtype: OutputDtype) -> None:
    assume(abs(number) < 1e38)
    found = quantized(vector([number, 0.0, -number / 2]), dtype)
    assert np.isfinite(found.astype(np.float64)).all()


@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=6), dtypes)
def test_each_row_of_a_matrix_is_what_it_is_alone(matrix: list[list[float]], dtype: OutputDtype) -> None:
    together = quantized(np.array(matrix, np.float32), dtype)
    for row, found in zip(matrix, together, strict=True):
        assert found.tolist() == quantized(vector(row), dtype).tolist()


@given(dtypes)
def test_a_reply_says_binary_for_both_packed_forms_and_sparse_weights_stay_floats(dtype: OutputDtype) -> None:
    assert told_dtype(dtype) == ("binary" if dtype.endswith("binary") else dtype)
    assert sparse_dtype(dtype) == ("float16" if dtype == "float16" else "float32")
