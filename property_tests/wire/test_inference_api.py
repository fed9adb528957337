"""Encode requests are checked to each item; replies are whole documents in both forms (wire-facts 1.2, 1.3)."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.inference_api import (
    MAX_ITEMS,
    MAX_LABELS,
    MAX_SCHEMA_DEPTH,
    MAX_SCORE_ITEMS,
    TooManyItems,
    read_encode_request,
    read_extract_request,
    read_score_request,
)
from tests.wire.refusals import problems_of

ITEMS = st.lists(strategies.items, min_size=1, max_size=3)
OPTIONS = st.none() | st.dictionaries(strategies.texts | st.just("is_query"), strategies.json_scalars, max_size=2)


@given(ITEMS)
def test_items_are_passed_on_as_the_client_sent_them(items: list[dict[str, Json]]) -> None:
    request = read_encode_request({"items": items})
    assert list(request.items) == items
    assert (request.output_types, request.instruction, request.options) == (None, None, None)
    assert request.is_query is False


@given(ITEMS, st.none() | st.booleans(), OPTIONS)
def test_a_query_is_told_by_its_own_flag_before_the_one_among_the_options(
    items: list[dict[str, Json]], flag: bool | None, options: dict[str, Json] | None
) -> None:
    request = read_encode_request({"items": items, "params": {"is_query": flag, "options": options}})
    assert request.is_query is ((options or {}).get("is_query") is True if flag is None else flag)


@given(ITEMS, st.none() | strategies.texts, OPTIONS)
def test_an_output_dtype_rides_in_the_options(
    items: list[dict[str, Json]], dtype: str | None, options: dict[str, Json] | None
) -> None:
    request = read_encode_request({"items": items, "params": {"output_dtype": dtype, "options": options}})
    assert request.options == (options if dtype is None else {**(options or {}), "output_dtype": dtype})


@given(ITEMS, strategies.json_maps)
def test_what_a_newer_client_adds_is_ignored(items: list[dict[str, Json]], more: dict[str, Json]) -> None:
    plain = {"items": items, "params": {"instruction": "find"}}
    newer = {"params": {**more, "instruction": "find"}, "items": items} | {f"new_{key}": more[key] for key in more}
    assert read_encode_request(newer) == read_encode_request(plain)


@given(ITEMS, st.data(), strategies.json_values.filter(lambda value: not isinstance(value, str)))
def test_an_item_without_text_is_refused_with_its_place(
    items: list[dict[str, Json]], data: st.DataObject, value: Json
) -> None:
    index = data.draw(st.integers(0, len(items) - 1))
    items[index] = {**items[index], "text": value}
    assert [p.loc for p in problems_of(read_encode_request, {"items": items})] == [("items", index, "text")]


@given(ITEMS, strategies.json_values.filter(lambda value: not isinstance(value, str | None)))
def test_an_id_that_is_no_text_is_refused_with_its_place(items: list[dict[str, Json]], value: Json) -> None:
    items[0] = {**items[0], "id": value}
    assert [p.loc for p in problems_of(read_encode_request, {"items": items})] == [("items", 0, "id")]


@pytest.mark.parametrize("value", [None, [], "text", 1, {}, {"items": None}, {"items": "text"}, {"items": ["text"]}])
def test_what_holds_no_items_is_refused(value: object) -> None:
    assert problems_of(read_encode_request, value)


@pytest.mark.parametrize(
    ("read", "most", "more"),
    [
        (read_encode_request, MAX_ITEMS, {}),
        (read_extract_request, MAX_ITEMS, {}),
        (read_score_request, MAX_SCORE_ITEMS, {"query": {"text": "q"}}),
    ],
)
def test_too_many_items_are_told_before_any_is_looked_at(
    read: Callable[[object], object], most: int, more: dict[str, object]
) -> None:
    read({"items": [{"text": "a"}] * most, **more})
    with pytest.raises(TooManyItems) as told:
        read({"items": [None] * (most + 1), **more})
    assert f"at most {most} items, not {most + 1}" in str(told.value)


@given(strategies.items, ITEMS, st.none() | strategies.texts, OPTIONS)
def test_score_reads_its_tuning_from_the_top(
    query: dict[str, Json], items: list[dict[str, Json]], instruction: str | None, options: dict[str, Json] | None
) -> None:
    body = {"query": query, "items": items, "instruction": instruction, "options": options}
    request = read_score_request({**body, "params": {"instruction": "no"}})
    assert (request.query, list(request.items)) == (query, items)
    assert (request.instruction, request.options) == (instruction, options)


@given(ITEMS, st.lists(strategies.texts, max_size=3), st.none() | strategies.json_maps, OPTIONS)
def test_extract_reads_its_tuning_from_params_alone(
    items: list[dict[str, Json]], labels: list[str], schema: dict[str, Json] | None, options: dict[str, Json] | None
) -> None:
    params = {"labels": labels, "output_schema": schema, "options": options}
    request = read_extract_request({"items": items, "params": params, "labels": ["no"], "instruction": "no"})
    assert list(request.items) == items
    assert (list(request.labels or ()), request.output_schema) == (labels, schema)
    assert (request.instruction, request.options) == (None, options)


@given(st.integers(1, 200))
def test_a_schema_is_as_deep_as_it_may_be_and_no_deeper(depth: int) -> None:
    schema: dict[str, object] = {}
    for _ in range(depth - 1):
        schema = {"items": schema}
    told = problems_of(read_extract_request, {"items": [{"text": "a"}], "params": {"output_schema": schema}})
    assert [p.loc for p in told] == ([("params", "output_schema")] if depth > MAX_SCHEMA_DEPTH else [])


def test_labels_are_bounded() -> None:
    told = problems_of(read_extract_request, {"items": [{"text": "a"}], "params": {"labels": ["x"] * (MAX_LABELS + 1)}})
    assert [p.loc for p in told] == [("params", "labels")]


@given(ITEMS, st.sampled_from(["long", "", 7, None]))
def test_a_profile_may_stand_among_the_options(items: list[dict[str, Json]], profile: object) -> None:
    request = read_encode_request({"items": items, "params": {"options": {"profile": profile}}})
    assert request.profile == (profile if profile == "long" else None)
