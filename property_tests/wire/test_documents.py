"""Documents say what their text says, and anything else is refused with its place (wire-facts 3.6)."""

import datetime
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json, Model
from sie.testing import strategies
from sie.wire.converters import WireError
from sie.wire.documents import MAX_NESTING, as_json, load_yaml, model_of, parse_bundle, parse_model
from tests.wire.refusals import problems_of

PLACES = st.lists(st.text("abc", min_size=1, max_size=3) | st.integers(0, 2), max_size=4)
NO_JSON = st.sampled_from(
    [datetime.date(2020, 1, 1), {1}, b"bytes", (1,), float("nan"), float("inf"), 2**64, -(2**63) - 1, "\udc00"]
)
YAML_TEXTS = st.text(st.sampled_from("[]{}:,-?!&*#|>'\"%@` \n\t0aebxo_.~<=\ud800\0"), max_size=12) | st.text()


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


@given(strategies.json_maps)
def test_yaml_gives_the_json_value_that_was_written(value: dict[str, Json]) -> None:
    assert load_yaml(yaml.safe_dump(value)) == value
    assert as_json(value) == value


@given(YAML_TEXTS)
@pytest.mark.parametrize("shape", ["{}", "a: {}", "!!int {}", "!!timestamp {}", "!!bool {}", "!!float 1:{}"])
def test_any_text_is_a_json_value_or_a_wire_error(shape: str, text: str) -> None:
    document = shape.format(text)
    if not problems_of(load_yaml, document):
        json.dumps(load_yaml(document), allow_nan=False).encode()


@given(PLACES, NO_JSON)
def test_what_is_no_json_value_is_refused_with_its_place(place: list[str | int], value: object) -> None:
    assert [p.loc for p in problems_of(as_json, at(place, value))] == [tuple(place)]


@given(PLACES, st.integers() | st.none() | st.booleans() | st.just("\udc00"))
def test_a_key_that_is_no_text_is_refused_with_the_place_of_its_map(place: list[str | int], key: object) -> None:
    assert [p.loc for p in problems_of(as_json, at(place, {key: 1}))] == [tuple(place)]


@pytest.mark.parametrize("depth", [MAX_NESTING, MAX_NESTING + 1, 500])
def test_a_nest_is_read_to_a_bound(depth: int) -> None:
    assert bool(problems_of(load_yaml, json.dumps(nested(depth)))) == (depth > MAX_NESTING)


def test_a_nest_beyond_what_yaml_follows_is_refused() -> None:
    assert problems_of(load_yaml, "[" * 20_000)
    assert problems_of(load_yaml, "- " * 20_000)


@given(strategies.model_documents)
def test_a_model_is_the_same_from_yaml_and_from_the_export(document: dict[str, Json]) -> None:
    model = model_of(document)
    assert parse_model(yaml.safe_dump(document)) == model
    assert model_of(json.loads(json.dumps(document))) == model


@given(strategies.model_documents)
def test_a_model_holds_what_its_document_says(document: dict[str, Json]) -> None:
    model = model_of(document)
    profiles, inputs = document["profiles"], document.get("inputs", {})
    assert isinstance(profiles, dict)
    assert isinstance(inputs, dict)
    assert (model.sie_id, model.hf_id) == (document["sie_id"], document.get("hf_id"))
    assert model.pool == (str(document.get("pool") or "").strip().lower() or "default")
    assert set(model.inputs) == {name for name, on in {"text": True, **inputs}.items() if on}
    assert {name: p.options for name, p in model.profiles.items()} == {
        name: profile.get("adapter_options") for name, profile in profiles.items()
    }


@given(strategies.model_documents, st.text("xyz", min_size=1, max_size=3), st.data())
def test_an_unknown_field_is_refused_with_its_place(document: dict[str, Json], key: str, data: st.DataObject) -> None:
    profiles = document["profiles"]
    assert isinstance(profiles, dict)
    name = data.draw(st.sampled_from([None, *profiles]))
    broken = (
        {**document, key: 1}
        if name is None
        else {**document, "profiles": {**profiles, name: {**profiles[name], key: 1}}}
    )
    place = (key,) if name is None else ("profiles", name, key)
    assert [(p.loc, p.message) for p in problems_of(model_of, broken)] == [(place, "unknown field")]


@given(strategies.model_documents, st.sampled_from(("", "a b", "é", "x" * 129)))
def test_a_bad_name_is_refused_with_its_place(document: dict[str, Json], bad: str) -> None:
    for broken, place in (
        ({**document, "sie_id": "a__b"}, ("sie_id",)),
        ({**document, "pool": "_default"}, ("pool",)),
        ({**document, "profiles": {bad: {}}}, ("profiles", bad)),
        ({**document, "profiles": {"p": {"extends": f"{bad} "}}}, ("profiles", "p", "extends")),
    ):
        assert [p.loc for p in problems_of(model_of, broken)] == [place]


@given(strategies.json_values)
def test_any_json_value_is_a_model_or_a_wire_error(value: Json) -> None:
    assert problems_of(model_of, value) or isinstance(model_of(value), Model)


@given(strategies.bundle_documents, st.booleans())
def test_a_bundle_holds_what_its_document_says(document: dict[str, Json], named: bool) -> None:
    text = yaml.safe_dump({key: value for key, value in document.items() if named or key != "name"})
    bundle = parse_bundle(text, stem="the-stem")
    assert bundle.name == (document["name"] if named else "the-stem")
    assert list(bundle.adapters) == document["adapters"]
    assert bundle.priority == document.get("priority", 100)
    assert bundle.engine == document.get("engine", "pytorch")


@given(strategies.bundle_documents, st.text("xyz", min_size=1, max_size=3))
def test_a_bundles_unknown_field_is_refused(document: dict[str, Json], key: str) -> None:
    with pytest.raises(WireError, match=f"^{key}: unknown field$"):
        parse_bundle(yaml.safe_dump({**document, key: 1}), stem="stem")
