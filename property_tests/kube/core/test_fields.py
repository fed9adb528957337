"""Fields of a document: what is taken has its type and is gone from the rest, anything else is said with its place."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.kube.core.fields import Left, take_int, take_map, take_text, take_time, take_words
from sie.kube.core.fields import given as only_given
from sie.wire.converters import WireError

TAKERS: dict[Callable[[Left, str], object], tuple[type, ...]] = {
    take_int: (int, type(None)),
    take_map: (dict,),
    take_text: (str, type(None)),
    take_time: (float, type(None)),
    take_words: (dict,),
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("take", TAKERS, ids=lambda take: take.__name__)
@given(value=json_values)
def test_a_taker_gives_its_type_or_says_where(take: Callable[[Left, str], object], value: object) -> None:
    left: Left = {"field": value, "other": 1}
    assert place_or_type(take, left) in (("field",), *TAKERS[take])
    assert left == {"other": 1}


def place_or_type(take: Callable[[Left, str], object], left: Left) -> object:
    try:
        return type(take(left, "field"))
    except WireError as error:
        return error.problems[0].loc


@given(st.dictionaries(st.text("ab", min_size=1, max_size=3), json_values))
def test_what_is_not_there_is_not_written(fields: dict[str, object]) -> None:
    kept = only_given(**fields)
    assert all(value is not None and value != {} for value in kept.values())
    assert {name: value for name, value in fields.items() if value is not None and value != {}} == kept
