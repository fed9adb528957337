"""A document may be written if each of its fields may, and every fault is told at its place (wire-facts 3.6)."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.model_schema import UNKNOWN_FIELD, check_model_schema
from sie.wire.yaml_reading import load_yaml
from tests.wire.test_model_schema import EVERYTHING

WHOLE = load_yaml(EVERYTHING)


def places(value: Json, *loc: str | int) -> list[tuple[str | int, ...]]:
    """Of every value within it."""
    if isinstance(value, dict):
        return [loc, *(place for key, item in value.items() for place in places(item, *loc, key))]
    if isinstance(value, list):
        return [loc, *(place for index, item in enumerate(value) for place in places(item, *loc, index))]
    return [loc]


def replaced(document: Json, place: tuple[str | int, ...], value: Json) -> Json:
    if not place:
        return value
    if isinstance(document, dict):
        return {k: replaced(item, place[1:], value) if k == place[0] else item for k, item in document.items()}
    assert isinstance(document, list)
    return [replaced(item, place[1:], value) if n == place[0] else item for n, item in enumerate(document)]


def written(document: dict[str, Json]) -> dict[str, Json]:
    """As a write may carry it: options are maps there, of the two known parts."""
    profiles = document["profiles"]
    assert isinstance(profiles, dict)
    return {**document, "profiles": {name: _written_profile(profile) for name, profile in profiles.items()}}


def _written_profile(profile: dict[str, Json]) -> dict[str, Json]:
    options = profile.get("adapter_options")
    parts = {k: v for k, v in options.items() if k != "flag"} if isinstance(options, dict) else {}
    return {**profile, "adapter_options": parts}


@given(strategies.model_documents)
def test_a_document_of_known_fields_may_be_written(document: dict[str, Json]) -> None:
    assert check_model_schema(written(document)) == ()


@given(st.sampled_from(places(WHOLE)), st.sampled_from((0.5, "\x00", [[]], False)))
def test_a_value_of_another_type_is_told_at_its_place_or_is_free(place: tuple[str | int, ...], value: Json) -> None:
    told = check_model_schema(replaced(WHOLE, place, value))
    assert all(p.loc[: len(place)] == place for p in told)


@given(strategies.model_documents, st.text("xyz", min_size=1, max_size=3), st.data())
def test_an_unknown_field_is_told_at_its_place(document: dict[str, Json], key: str, data: st.DataObject) -> None:
    config = written(document)
    profiles = config["profiles"]
    assert isinstance(profiles, dict)
    name = data.draw(st.sampled_from([None, *profiles]))
    place: tuple[str, ...] = () if name is None else ("profiles", name)
    held = config if name is None else profiles[name]
    broken = replaced(config, place, {**held, key: 1})
    assert [(p.loc, p.message) for p in check_model_schema(broken)] == [((*place, key), UNKNOWN_FIELD)]


@given(strategies.json_values)
def test_any_json_value_is_judged(value: Json) -> None:
    assert isinstance(value, dict) or check_model_schema(value)
