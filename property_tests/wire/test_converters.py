"""Only values of the right JSON type are taken, and every problem is told with its place."""

from collections.abc import Mapping
from typing import Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.converters import EXACT, TOLERANT, Problem, WireError, structure
from tests.wire.refusals import problems_of


@attrs.frozen
class Leaf:
    text: str
    count: int = 0
    ratio: float = 0.0
    on: bool = False
    raw: bytes = b""
    either: Literal["left", "right"] = "left"
    maybe: str | None = None
    anything: object = None


@attrs.frozen
class Tree:
    leaves: tuple[Leaf, ...] = ()
    named: Mapping[str, Leaf] = attrs.field(factory=dict)


LEAVES: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {"text": strategies.texts},
    optional={
        "count": st.integers(),
        "ratio": strategies.numbers | st.integers(),
        "on": st.booleans(),
        "raw": st.binary(max_size=4),
        "either": st.sampled_from(("left", "right")),
        "maybe": st.none() | strategies.texts,
        "anything": strategies.json_values,
    },
)
NAMES = st.text("ab.", max_size=3)
TREES = st.fixed_dictionaries(
    {"leaves": st.lists(LEAVES, max_size=3), "named": st.dictionaries(NAMES, LEAVES, max_size=3)}
)
TYPES: Mapping[str, type | tuple[type, ...]] = {
    "text": str,
    "count": int,
    "ratio": (int, float),
    "on": bool,
    "raw": bytes,
    "maybe": (str, type(None)),
}
VALUES = strategies.json_values | st.binary(max_size=2)


def tree(value: object) -> Tree:
    return structure(EXACT, value, Tree)


@given(LEAVES)
def test_values_of_the_right_type_are_taken_unchanged(value: dict[str, object]) -> None:
    leaf = structure(EXACT, value, Leaf)
    for name, given_value in value.items():
        assert getattr(leaf, name) == given_value


@given(TREES)
def test_unstructuring_gives_what_structures_again_to_the_same(value: dict[str, object]) -> None:
    assert tree(EXACT.unstructure(tree(value))) == tree(value)


@given(st.sampled_from(sorted(TYPES)), VALUES)
def test_a_field_takes_its_own_json_type_and_no_other(name: str, value: object) -> None:
    fits = isinstance(value, TYPES[name]) and isinstance(value, bool) == (name == "on")
    told = problems_of(lambda v: structure(EXACT, v, Leaf), {"text": "", name: value})
    assert [problem.loc for problem in told] == ([] if fits else [(name,)])


@given(VALUES)
def test_a_choice_is_refused_with_the_choices_and_the_value(value: object) -> None:
    (told,) = problems_of(lambda v: structure(EXACT, v, Leaf), {"text": "", "either": value})
    assert told == Problem(("either",), f"must be one of left, right, not {value!r}")


@given(TREES, st.data())
def test_a_problem_deep_inside_is_told_with_its_whole_place(value: dict[str, object], data: st.DataObject) -> None:
    leaves, named = value["leaves"], value["named"]
    assert isinstance(leaves, list)
    assert isinstance(named, dict)
    places = [("leaves", index) for index in range(len(leaves))] + [("named", key) for key in named]
    broken = data.draw(st.lists(st.sampled_from(places), unique=True)) if places else []
    for where, key in broken:
        (leaves if where == "leaves" else named)[key]["count"] = "many"
    assert {problem.loc for problem in problems_of(tree, value)} == {(*place, "count") for place in broken}


@given(LEAVES, st.lists(st.text("xyz", min_size=1, max_size=3), unique=True, max_size=3))
def test_an_unknown_key_is_refused_where_people_write_and_ignored_where_services_do(
    value: dict[str, object], extra: list[str]
) -> None:
    more = {**value, **dict.fromkeys(extra)}
    told = problems_of(lambda v: structure(EXACT, v, Leaf), more)
    assert [(problem.loc, problem.message) for problem in told] == [((key,), "unknown field") for key in sorted(extra)]
    assert structure(TOLERANT, more, Leaf) == structure(TOLERANT, value, Leaf)


@given(st.dictionaries(st.integers() | st.text("xyz", min_size=1, max_size=2), st.none(), min_size=1, max_size=3))
def test_an_unknown_key_that_is_no_text_is_refused_too(extra: dict[object, None]) -> None:
    told = problems_of(lambda v: structure(EXACT, v, Leaf), {"text": "", **extra})
    assert {problem.loc for problem in told} == {(str(key),) for key in extra}


@given(VALUES)
def test_what_is_no_map_is_refused_as_one(value: Json) -> None:
    if not isinstance(value, dict):
        (told,) = problems_of(tree, value)
        assert told.loc == ()
        assert told.message.startswith("must be a map, not ")


@given(st.dictionaries(strategies.texts, VALUES, max_size=3))
def test_a_missing_field_is_told_by_its_name(value: dict[str, object]) -> None:
    value.pop("text", None)
    told = problems_of(lambda v: structure(TOLERANT, v, Leaf), value)
    assert Problem(("text",), "is required") in told


@pytest.mark.parametrize("value", ["ab", {"0": {}}, 5, None])
def test_a_list_is_never_made_of_something_else(value: object) -> None:
    (told,) = problems_of(tree, {"leaves": value})
    assert told.loc == ("leaves",)
    assert told.message.startswith("must be a list, not ")


@given(st.lists(st.builds(Problem, st.lists(NAMES | st.integers(0, 9), max_size=3).map(tuple), strategies.texts)))
def test_an_error_names_every_problem(problems: list[Problem]) -> None:
    error = WireError(problems)
    assert error.problems == tuple(problems)
    assert all(problem.message in str(error) for problem in problems)


@given(st.lists(NAMES | st.integers(0, 9), max_size=3), strategies.texts)
def test_one_problem_is_told_at_its_place(loc: list[str | int], message: str) -> None:
    assert WireError.at(*loc, message=message).problems == (Problem(tuple(loc), message),)
