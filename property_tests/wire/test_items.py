"""An item is passed on as the client sent it, its media as bytes; whatever is wrong is named (wire-facts 1.2)."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.items import CONTENT, MAX_TEXT_BYTES, MEDIA, checked_item
from tests.wire.refusals import problems_of


def read_json(value: object) -> object:
    return checked_item(value, ("items", 3), is_json=True)


def read_msgpack(value: object) -> object:
    return checked_item(value, ("items", 3), is_json=False)


@given(strategies.items, st.booleans())
def test_text_is_passed_on_as_it_is(item: dict[str, Json], is_json: bool) -> None:
    assert checked_item(item, (), is_json=is_json) == item


@given(st.lists(st.binary(max_size=20), max_size=3), st.sampled_from(MEDIA), st.binary(max_size=20))
def test_media_become_bytes_from_both_forms(images: list[bytes], kind: str, data: bytes) -> None:
    as_bytes = {"images": [{"data": image, "format": "png"} for image in images], kind: {"data": data}}
    as_json = {
        "images": [{"data": b64encode(image).decode(), "format": "png"} for image in images],
        kind: {"data": b64encode(data).decode()},
    }
    assert read_json(as_json) == read_msgpack(as_bytes) == as_bytes


@pytest.mark.parametrize(
    ("item", "loc"),
    [
        ({"images": [{"data": "AAAA"}, {"data": "A*AA"}]}, ("images", 1, "data")),
        ({"images": [{"data": "AAA"}]}, ("images", 0, "data")),
        ({"images": [{}]}, ("images", 0, "data")),
        ({"images": ["AAAA"]}, ("images", 0)),
        ({"images": {"data": "AAAA"}}, ("images",)),
        ({"audio": "AAAA"}, ("audio",)),
        ({"document": {"data": 7}}, ("document", "data")),
        ({}, ("text",)),
        ({"text": None, "images": None}, ("text",)),
        ({"text": 3}, ("text",)),
        ({"text": "a", "id": 3}, ("id",)),
        ({"text": "\ud800"}, ("text",)),
        ("text", ()),
        (None, ()),
    ],
)
def test_what_is_wrong_is_named(item: object, loc: tuple[str | int, ...]) -> None:
    assert [p.loc for p in problems_of(read_json, item)] == [("items", 3, *loc)]


@given(st.sampled_from(CONTENT[1:]), strategies.json_values.filter(lambda value: value is not None))
def test_media_of_msgpack_are_never_text(name: str, value: Json) -> None:
    shaped = [{"data": value}] if name == "images" else {"data": value}
    assert [p.loc[-1] for p in problems_of(read_msgpack, {name: shaped})] == ["data"]


@given(st.sampled_from("aé€😀"), st.integers(0, 3))
def test_the_limit_of_a_text_counts_its_utf8_bytes(character: str, over: int) -> None:
    text = character * ((MAX_TEXT_BYTES + over) // len(character.encode()))
    told = problems_of(read_json, {"text": text})
    assert [p.loc for p in told] == ([("items", 3, "text")] if len(text.encode()) > MAX_TEXT_BYTES else [])
