"""A vector is cut to a size that its profile names, and to no other; what is left points where the whole one did."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st

from sie.adapters.api import BadInput, LoadFailed, Vector
from sie.adapters.matryoshka import OPTION, Sizes, parse_sizes

NATIVE = 16
vectors = np_st.arrays(np.float32, NATIVE, elements=st.floats(-1e3, 1e3, width=32))
listed = st.lists(st.integers(1, NATIVE), max_size=5)


@given(listed, st.booleans())
def test_the_sizes_are_those_listed_and_the_native_one(sizes: list[int], normalize: bool) -> None:
    parsed = parse_sizes({OPTION: sizes}, native=NATIVE, normalize=normalize)
    exist = {*sizes, NATIVE}
    for size in exist:
        assert parsed.choose(size) == size
    assert parsed.choose(None) == NATIVE
    for size in set(range(-1, NATIVE + 2)) - exist:
        with pytest.raises(BadInput, match=f"dimensions {size} do not exist in this model; it has .*{NATIVE}"):
            parsed.choose(size)


@given(vectors, st.integers(1, NATIVE - 1))
def test_a_smaller_vector_is_the_first_places_at_unit_length(vector: Vector, size: int) -> None:
    found = Sizes(NATIVE, (size,)).cut(vector, size)
    first = vector[:size].astype(np.float64)
    length = float(np.linalg.norm(first))
    assert (found.dtype, found.shape) == (np.dtype(np.float32), (size,))
    assert np.allclose(found * max(length, 1e-12), first, rtol=1e-5, atol=1e-30)
    if length > 1e-6:
        assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)


@given(vectors, st.integers(1, NATIVE - 1))
def test_a_profile_that_does_not_normalise_gives_the_places_as_they_are(vector: Vector, size: int) -> None:
    assert np.array_equal(Sizes(NATIVE, (size,), normalize=False).cut(vector, size), vector[:size])


@given(vectors, st.booleans())
def test_the_native_size_is_the_vector_itself(vector: Vector, normalize: bool) -> None:
    assert Sizes(NATIVE, (4,), normalize).cut(vector, NATIVE) is vector


@given(st.booleans() | st.floats() | st.text() | st.lists(st.integers(), max_size=2))
def test_what_is_no_whole_number_is_refused(asked: object) -> None:
    with pytest.raises(BadInput, match="it has 1, 16"):
        Sizes(NATIVE, (1,)).choose(asked)


@pytest.mark.parametrize("sizes", [0, "8", [0], [NATIVE + 1], [True], ["8"], [8, 4.0], {8: 4}])
def test_sizes_that_no_vector_can_have_are_refused_at_the_load(sizes: object) -> None:
    with pytest.raises(LoadFailed, match=rf"runtime\.{OPTION} must be a list of sizes from 1 to {NATIVE}") as refused:
        parse_sizes({OPTION: sizes}, native=NATIVE, normalize=True)
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)
