"""Encode requests are checked to each item; replies are whole documents in both forms (wire-facts 1.2, 1.3)."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.codec import pack, unpack
from sie.wire.inference_api import (
    MAX_ITEM_TEXT_BYTES,
    json_encode_reply,
    msgpack_encode_reply,
    read_encode_request,
)
from sie.wire.ndarray import array_to_wire, arrays_to_lists
from tests.wire.refusals import problems_of

ITEMS = st.lists(strategies.items, min_size=1, max_size=3)
OPTIONS = st.none() | st.dictionaries(strategies.texts | st.just("is_query"), strategies.json_scalars, max_size=2)
RESULTS = st.lists(
    st.builds(
        lambda array, item_id: {"id": item_id, "dense": {"dims": array.size, "values": array_to_wire(array)}},
        strategies.arrays.filter(lambda array: array.dtype.kind != "f"),
        strategies.texts,
    )
    | strategies.json_values,
    max_size=3,
)
ERRORS = st.lists(st.builds(lambda n, text: {"item_index": n, "error": text}, st.integers(0, 99), strategies.texts))


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


@given(st.sampled_from("aé€😀"), st.integers(0, 3))
def test_the_limit_of_a_text_counts_its_utf8_bytes(character: str, over: int) -> None:
    width = len(character.encode())
    text = character * ((MAX_ITEM_TEXT_BYTES + over) // width)
    told = problems_of(read_encode_request, {"items": [{"text": text}]})
    assert [p.loc for p in told] == ([("items", 0, "text")] if len(text.encode()) > MAX_ITEM_TEXT_BYTES else [])


@pytest.mark.parametrize("value", [None, [], "text", 1, {}, {"items": None}, {"items": "text"}, {"items": ["text"]}])
def test_what_holds_no_items_is_refused(value: object) -> None:
    assert problems_of(read_encode_request, value)


@given(strategies.model_ids, RESULTS, ERRORS)
def test_a_msgpack_reply_is_one_map_of_exactly_its_keys(
    model: str, results: list[object], errors: list[dict[str, object]]
) -> None:
    reply = unpack(msgpack_encode_reply(model, list(map(pack, results)), errors))
    assert isinstance(reply, dict)
    assert list(reply) == ["model", "items", *(["errors"] if errors else [])]
    assert (reply["model"], reply["items"], reply.get("errors", [])) == (model, results, errors)


@given(strategies.model_ids, RESULTS, ERRORS)
def test_the_two_forms_of_a_reply_say_the_same(
    model: str, results: list[object], errors: list[dict[str, object]]
) -> None:
    blobs = [msgpack.packb(result) for result in results]
    packed = unpack(msgpack_encode_reply(model, blobs, errors))
    assert json_encode_reply(model, blobs, errors) == arrays_to_lists(packed)
