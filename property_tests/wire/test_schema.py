"""Checks tell a problem exactly for what they do not take, at its place, and combine without losing one."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire import schema
from sie.wire.schema import Check

LEAVES: Mapping[str, tuple[Check, type | tuple[type, ...]]] = {
    "text": (schema.text, str),
    "truth": (schema.truth, bool),
    "map": (schema.any_map, dict),
    "text or map": (schema.text_or_map, (str, dict)),
    "integer": (schema.integer(least=-(2**63)), int),
    "number": (schema.number(), (int, float)),
}


def takes(check: Check, value: object) -> bool:
    return not schema.problems_of(check, value)


@given(st.sampled_from(sorted(LEAVES)), strategies.json_values)
def test_a_leaf_takes_values_of_its_type_alone(name: str, value: Json) -> None:
    check, types = LEAVES[name]
    is_number = name in ("integer", "number")
    assert takes(check, value) == (isinstance(value, types) and not (is_number and isinstance(value, bool)))
    assert takes(schema.nullable(check), value) == (value is None or takes(check, value))


@given(st.integers(), st.integers())
def test_a_bound_is_told_with_the_value_seen(least: int, value: int) -> None:
    told = [p.message for p in schema.problems_of(schema.integer(least=least), value)]
    assert told == ([] if value >= least else [f"must be at least {least}, not {value}"])
    assert takes(schema.number(above=least), value) == (value > least)


@given(strategies.json_values, st.lists(strategies.texts, max_size=3))
def test_one_of_takes_its_words_alone(value: Json, words: list[str]) -> None:
    assert takes(schema.one_of(*words), value) == (value in words and isinstance(value, str))


@given(st.lists(strategies.json_values, max_size=4))
def test_every_bad_item_of_a_list_is_told_at_its_place(values: list[Json]) -> None:
    told = schema.problems_of(schema.list_of(schema.text), values)
    assert {p.loc for p in told} == {(n,) for n, value in enumerate(values) if not isinstance(value, str)}


@given(strategies.json_maps)
def test_every_bad_value_of_a_map_is_told_at_its_key(values: dict[str, Json]) -> None:
    told = schema.problems_of(schema.map_of(schema.text), values)
    assert [p.loc for p in told] == [(key,) for key in sorted(values) if not isinstance(values[key], str)]


@given(strategies.json_maps, st.sets(strategies.texts, max_size=3))
def test_a_record_refuses_every_key_that_it_does_not_know(values: dict[str, Json], known: set[str]) -> None:
    check = schema.record(dict.fromkeys(known, schema.text), unknown="unknown")
    told = {p.loc[0]: p.message for p in schema.problems_of(check, values)}
    assert {key for key, message in told.items() if message == "unknown"} == set(values) - known
    assert {key for key in told if key in known} == {
        key for key in known & set(values) if not isinstance(values[key], str)
    }
