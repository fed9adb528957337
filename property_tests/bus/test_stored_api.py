"""One stored message as JetStream's API tells it (§8.2)."""

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_tests.bus.test_jetstream_api import json_values
from sie.bus.jetstream_api import ApiError
from sie.bus.stored_api import Span, Stored, decode_span, decode_stored

AT = datetime(2026, 11, 30, 12, 51, 39, 553248, UTC)


@given(st.integers(1, 2**63), st.text(max_size=20), st.binary(max_size=50))
def test_a_message_is_read_as_the_server_tells_it(seq: int, subject: str, data: bytes) -> None:
    told = {"subject": subject, "seq": seq, "time": "2026-11-30T12:51:39.553248111Z"}
    encoded = {"data": base64.b64encode(data).decode()} if data else {}
    assert decode_stored({"type": "t", "message": {**told, **encoded}}) == Stored(seq, subject, data, AT)


@given(json_values)
def test_what_is_no_message_is_an_error_of_the_api(value: object) -> None:
    with pytest.raises(ApiError):
        decode_stored({"message": value})


@pytest.mark.parametrize(("key", "value"), [("time", "now"), ("data", "§"), ("seq", "1")])
def test_a_field_that_cannot_be_read_is_an_error_of_the_api(key: str, value: object) -> None:
    told = {"subject": "s", "seq": 1, "time": "2026-11-30T12:51:39Z", "data": "eA=="}
    with pytest.raises(ApiError):
        decode_stored({"message": {**told, key: value}})


@given(st.integers(0, 2**63), st.integers(0, 2**63))
def test_the_span_of_a_stream_is_read_and_one_that_never_held_anything_is_empty(first: int, last: int) -> None:
    span = decode_span({"state": {"first_seq": first, "last_seq": last}})
    assert span == Span(max(first, 1), last)


@given(json_values)
def test_a_stream_without_its_sequences_is_an_error_of_the_api(value: object) -> None:
    with pytest.raises(ApiError):
        decode_span({"state": value})
