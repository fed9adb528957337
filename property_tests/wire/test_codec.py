"""msgpack in and out (wire-facts 2): the same value back, or a WireError, whatever the bytes are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.codec import pack, unpack
from sie.wire.converters import WireError
from tests.wire.refusals import problems_of

VALUES = st.recursive(
    strategies.json_scalars | st.binary(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(strategies.texts | st.binary(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES)
def test_what_is_packed_comes_back_with_text_and_bytes_kept_apart(value: object) -> None:
    assert unpack(pack(value)) == value


@given(st.binary(max_size=40))
def test_any_bytes_are_a_document_or_a_wire_error(data: bytes) -> None:
    assert all("not a msgpack document" in problem.message for problem in problems_of(unpack, data))


@given(strategies.json_values, st.binary(min_size=1, max_size=4))
def test_nothing_may_follow_a_document(value: Json, more: bytes) -> None:
    with pytest.raises(WireError):
        unpack(pack(value) + more)


@given(strategies.json_values)
def test_a_document_cut_short_is_refused(value: Json) -> None:
    data = pack(value)
    for end in range(len(data)):
        with pytest.raises(WireError):
            unpack(data[:end])


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, "\ud800", {1, 2}, [object()]])
def test_what_has_no_msgpack_form_is_refused(value: object) -> None:
    with pytest.raises(WireError, match="has no msgpack form"):
        pack(value)


def test_a_nest_too_deep_to_pack_is_refused() -> None:
    value: list[object] = []
    for _ in range(5_000):
        value = [value]
    with pytest.raises(WireError, match="has no msgpack form"):
        pack(value)


def test_a_nest_too_deep_to_unpack_is_refused() -> None:
    with pytest.raises(WireError):
        unpack(b"\x91" * 5_000 + b"\xc0")
