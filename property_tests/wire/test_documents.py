"""Models and bundles hold what their documents say, and bad ones are refused with their place (wire-facts 3.6)."""

import json

import yaml
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json, Model
from sie.testing import strategies
from sie.wire.documents import model_of, parse_bundle, parse_model
from tests.wire.refusals import problems_of


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
    assert {name: p.written_options for name, p in model.profiles.items()} == {
        name: profile.get("adapter_options") for name, profile in profiles.items()
    }


@given(strategies.model_documents, st.text("xyz", min_size=1, max_size=3), strategies.json_values, st.data())
def test_a_field_of_a_newer_service_changes_nothing(
    document: dict[str, Json], key: str, value: Json, data: st.DataObject
) -> None:
    profiles = document["profiles"]
    assert isinstance(profiles, dict)
    name = data.draw(st.sampled_from([None, *profiles]))
    newer = (
        {**document, key: value}
        if name is None
        else {**document, "profiles": {**profiles, name: {**profiles[name], key: value}}}
    )
    assert model_of(newer) == model_of(document)


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


@given(strategies.bundle_documents, st.text("xyz", min_size=1, max_size=3), strategies.json_values)
def test_a_bundles_field_of_a_newer_service_changes_nothing(document: dict[str, Json], key: str, value: Json) -> None:
    newer = yaml.safe_dump({**document, key: value})
    assert parse_bundle(newer, stem="stem") == parse_bundle(yaml.safe_dump(document), stem="stem")
