"""How a profile inherits (wire-facts 3.6), by example; property_tests/domain/test_model.py holds the rules."""

from collections.abc import Mapping

import attrs
import pytest

from sie.domain.ids import ModelId, ProfileName
from sie.domain.model import Json, Model, Profile

PARENT, CHILD = ProfileName("parent"), ProfileName("child")


def inherited(parent: Mapping[str, Json] | None, child: Mapping[str, Json] | None) -> Mapping[str, Json] | None:
    model = Model(
        ModelId("acme/one"), profiles={PARENT: Profile(options=parent), CHILD: Profile(options=child, extends=PARENT)}
    )
    effective = model.effective(CHILD)
    assert effective is not None
    return effective.options


@pytest.mark.parametrize(
    ("parent", "child", "expected"),
    [
        ({"loadtime": {"a": 1}}, None, {"loadtime": {"a": 1}}),
        ({"loadtime": {"a": 1}}, {}, {"loadtime": {"a": 1}}),
        ({"loadtime": {"a": 1}}, {"loadtime": {}}, {"loadtime": {"a": 1}}),
        ({"loadtime": {"a": 1}}, {"loadtime": None}, {"loadtime": {"a": 1}}),
        ({"loadtime": {"a": 1, "b": 2}}, {"loadtime": {"c": 3}}, {"loadtime": {"c": 3}}),
        ({"loadtime": {"a": 1}}, {"runtime": {"c": 3}}, {"loadtime": {"a": 1}, "runtime": {"c": 3}}),
        (None, {"runtime": {"c": 3}}, {"runtime": {"c": 3}}),
        ({"flag": 1}, {"flag": 0}, {"flag": 0}),
        ({"flag": 1}, {"flag": {}}, {"flag": {}}),
    ],
)
def test_option_maps_are_replaced_whole_or_inherited_and_other_keys_overwrite(
    parent: Mapping[str, Json] | None, child: Mapping[str, Json] | None, expected: Mapping[str, Json]
) -> None:
    assert inherited(parent, child) == expected


def test_a_circle_or_a_missing_parent_resolves_to_nothing() -> None:
    names = [ProfileName(name) for name in ("self", "one", "two", "dangling")]
    extends = [ProfileName(name) for name in ("self", "two", "one", "nowhere")]
    model = Model(
        ModelId("acme/one"), profiles={n: Profile("acme.enc:E", extends=e) for n, e in zip(names, extends, strict=True)}
    )
    assert [model.effective(name) for name in (*names, ProfileName("absent"))] == [None] * 5


def test_the_module_is_what_stands_before_the_class() -> None:
    assert Profile("acme.enc.small:Encoder").module == "acme.enc.small"
    assert Profile().module is None


@pytest.mark.parametrize(
    ("parent", "child", "expected"),
    [("text", None, "text"), ("text", {}, None), ({"flag": 1}, "text", "text"), ([], None, []), ("text", [], [])],
)
def test_options_that_are_no_map_are_inherited_or_replaced_whole(parent: Json, child: Json, expected: Json) -> None:
    model = Model(
        ModelId("acme/one"), profiles={PARENT: written(parent), CHILD: attrs.evolve(written(child), extends=PARENT)}
    )
    effective = model.effective(CHILD)
    assert effective is not None
    assert effective.written_options == expected


def written(options: Json) -> Profile:
    return Profile(options=options) if isinstance(options, Mapping) else Profile(odd_options=options)
