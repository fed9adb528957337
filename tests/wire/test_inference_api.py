"""Encode requests as the published SDK sends them, and the reply map that it reads (wire-facts 1.2, 1.3, 2.3)."""

import msgpack
import pytest

from sie.wire.converters import WireError
from sie.wire.inference_api import EncodeRequest, read_encode_request
from sie.wire.replies import msgpack_items_reply


def test_a_request_of_the_published_sdk_is_read() -> None:
    request = read_encode_request(
        {
            "items": [{"text": "hello"}, {"id": "b", "text": "world", "metadata": {"lang": "en"}}],
            "params": {
                "output_types": ["dense"],
                "instruction": "Find",
                "output_dtype": "float16",
                "options": {"profile": "small", "is_query": True},
            },
        }
    )
    assert request == EncodeRequest(
        items=({"text": "hello"}, {"id": "b", "text": "world", "metadata": {"lang": "en"}}),
        output_types=("dense",),
        instruction="Find",
        is_query=True,
        options={"profile": "small", "is_query": True, "output_dtype": "float16"},
        profile="small",
    )


def test_a_reply_with_errors_announces_three_entries_and_has_them() -> None:
    """The published gateway 0.3.1 announced three and wrote two."""
    reply = msgpack_items_reply("m", [b"\x81\xa2id\xa1a"], [{"item_index": 1, "error": "no"}])
    assert reply[:1] == b"\x83"
    assert msgpack.unpackb(reply) == {
        "model": "m",
        "items": [{"id": "a"}],
        "errors": [{"item_index": 1, "error": "no"}],
    }


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"items": [{}]}, "items.0.text: is required, or one of images, audio, video, document"),
        ({"items": [{"text": "a"}, {"text": b"b"}]}, "items.1.text: must be a string, not bytes"),
        ({"items": [{"text": "\ud800"}]}, "items.0.text: must not hold lone surrogates"),
        ({"items": [{"text": "a", "id": 3}]}, "items.0.id: must be a string"),
        ({"items": [{"text": "a"}], "params": {"options": []}}, "params.options: must be a map, not a list"),
        ({"items": [{"text": "a"}], "params": {"output_types": "dense"}}, "params.output_types: must be a list"),
    ],
)
def test_a_bad_request_is_refused_with_the_place_of_the_fault(value: object, problem: str) -> None:
    with pytest.raises(WireError) as told:
        read_encode_request(value)
    assert str(told.value).startswith(problem)
