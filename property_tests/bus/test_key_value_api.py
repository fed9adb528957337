"""An entry means the same however it came; nothing that a broker may answer raises what is no BusError."""

import base64
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.bus.jetstream_api import ApiError, Delivery, Json
from sie.bus.key_value_api import (
    MARKERS,
    OPERATION,
    SERVERS_MARKER,
    Entry,
    check_bucket,
    decode_entry,
    decode_state,
    delete_headers,
    entry_of,
    key_subject,
    write_headers,
)

KEYS = st.text("abz09_-/.=", min_size=1, max_size=9)
REVISIONS = st.integers(1, 2**53)
HEADERS: SearchStrategy[dict[str, str]] = st.fixed_dictionaries(
    {},
    optional={
        OPERATION: st.sampled_from((*MARKERS, "PUT", "")),
        SERVERS_MARKER: st.sampled_from(("MaxAge", "Remove")),
        "Nats-TTL": st.just("5s"),
        "other": st.text("ab:", max_size=4),
    },
)
JSON: SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
)


def stored(revision: int, value: bytes, headers: Mapping[str, str]) -> Json:
    """As STREAM.MSG.GET answers: what is empty is left out."""
    block = "NATS/1.0\r\n" + "".join(f"{name}: {text}\r\n" for name, text in headers.items()) + "\r\n"
    message: dict[str, object] = {"seq": revision}
    if headers:
        message["hdrs"] = base64.b64encode(block.encode()).decode()
    if value:
        message["data"] = base64.b64encode(value).decode()
    return {"message": message}


@given(KEYS, REVISIONS, st.binary(max_size=9), HEADERS)
def test_an_entry_that_is_read_is_the_one_that_is_heard(
    key: str, revision: int, value: bytes, headers: dict[str, str]
) -> None:
    delivery = Delivery(key_subject("b", key), value, headers, "", revision, 1, 0)
    entry = entry_of("b", delivery)
    assert entry == decode_entry(key, stored(revision, value, headers))
    is_marker = headers.get(OPERATION) in MARKERS or SERVERS_MARKER in headers
    assert entry == Entry(key, revision, None if is_marker else value)


@given(KEYS, REVISIONS, st.none() | st.integers(1, 10**6))
def test_what_we_write_is_an_entry_and_what_we_delete_a_marker(key: str, revision: int, fades_s: int | None) -> None:
    written = Delivery(key_subject("b", key), b"x", write_headers(revision), "", revision + 1, 1, 0)
    deleted = Delivery(key_subject("b", key), b"", delete_headers(revision, fades_s=fades_s), "", revision + 1, 1, 0)
    assert entry_of("b", written).value == b"x"
    assert entry_of("b", deleted).value is None


@given(st.sampled_from(("message", "seq", "hdrs", "data")), JSON)
def test_a_strange_answer_is_an_entry_or_an_api_error(field: str, value: object) -> None:
    message: dict[str, object] = {"seq": 7, "data": "eA==", field: value}
    answer: Json = {"message": value if field == "message" else message}
    try:
        entry = decode_entry("a", answer)
    except ApiError:
        return
    assert entry.key == "a"


@given(st.sampled_from(("created", "state", "config", "last_seq", "none")), JSON)
def test_strange_information_is_a_state_or_an_api_error(field: str, value: object) -> None:
    state: dict[str, object] = {"last_seq": 3}
    info: dict[str, object] = {"created": "today", "state": state, "config": {"allow_msg_ttl": True}}
    (state if field == "last_seq" else info)[field] = value
    try:
        found = decode_state(info)
    except ApiError:
        return
    assert not found.markers_fade


@given(st.text(max_size=5))
def test_a_buckets_name_is_one_token_of_a_subject_and_of_a_stream(name: str) -> None:
    if name and all(char.isascii() and (char.isalnum() or char in "_-") for char in name):
        check_bucket(name)
    else:
        with pytest.raises(ValueError, match="a bucket's name must be"):
            check_bucket(name)
