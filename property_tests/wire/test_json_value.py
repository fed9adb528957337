"""What every peer can read passes as it is, and anything else is refused with its place."""

import datetime
import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.json_value import MAX_NESTING, as_json
from tests.wire.refusals import problems_of

PLACES = st.lists(st.text("abcé", min_size=1, max_size=3) | st.integers(0, 2), max_size=4)
NO_JSON = st.sampled_from(
    [datetime.date(2020, 1, 1), {1}, b"bytes", (1,), float("nan"), float("inf"), 2**64, -(2**63) - 1, "\udc00"]
)


def at(place: list[str | int], value: object) -> object:
    """A document that holds the value there."""
    for key in reversed(place):
        value = {key: value} if isinstance(key, str) else [None] * key + [value]
    return value


def nested(depth: int) -> object:
    value: object = None
    for _ in range(depth):
        value = [value]
    return value


@given(strategies.json_values)
def test_a_json_value_passes_as_it_is(value: Json) -> None:
    assert as_json(value) is value
    json.dumps(value, allow_nan=False).encode()


@given(strategies.json_maps)
def test_a_map_of_another_kind_becomes_a_plain_one(value: dict[str, Json]) -> None:
    assert as_json({"a": MappingProxyType(value)}) == {"a": value}


@given(PLACES, NO_JSON)
def test_what_is_no_json_value_is_refused_with_its_place(place: list[str | int], value: object) -> None:
    assert [p.loc for p in problems_of(as_json, at(place, value))] == [tuple(place)]


@given(PLACES, st.integers() | st.none() | st.booleans() | st.just("\udc00"))
def test_a_key_that_is_no_text_is_refused_with_the_place_of_its_map(place: list[str | int], key: object) -> None:
    assert [p.loc for p in problems_of(as_json, at(place, {key: 1}))] == [tuple(place)]


@pytest.mark.parametrize("depth", [MAX_NESTING, MAX_NESTING + 1, 100_000])
def test_a_nest_is_read_to_a_bound(depth: int) -> None:
    assert bool(problems_of(as_json, nested(depth))) == (depth > MAX_NESTING)
