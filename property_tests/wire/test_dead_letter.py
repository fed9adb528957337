"""A dead letter holds the whole advisory and the whole work, or says that the work is elsewhere (§8)."""

import json
from collections.abc import Mapping

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.converters import WireError
from sie.wire.dead_letter import (
    OURS,
    Advisory,
    DeadLetter,
    advisory_of,
    dead_letter,
    decode_advisory,
    decode_dead_letter,
    encode_dead_letter,
    fitted,
)

FROM_A_SERVER: Mapping[str, Json] = {
    "type": "io.nats.jetstream.advisory.v1.max_deliver",
    "id": "3H2Qk3hR2C6xnSDVv6sEgc",
    "timestamp": "2026-11-30T12:51:39.554877109Z",
    "stream": "WORK_POOL_default",
    "consumer": "default_l4_default",
    "stream_seq": 7,
    "deliveries": 20,
}
names = st.text("abzAZ09_-", min_size=1, max_size=20)
advisories = st.builds(
    lambda more, stream, consumer, seq, tries: advisory_of(
        {
            **{f"x_{key}": value for key, value in more.items()},
            **FROM_A_SERVER,
            "stream": stream,
            "consumer": consumer,
            "stream_seq": seq,
            "deliveries": tries,
        }
    ),
    strategies.json_maps,
    names,
    names,
    st.integers(1, 2**63),
    st.integers(1, 1000),
)
letters = st.builds(dead_letter, advisories, strategies.texts, st.binary(max_size=200))


@given(advisories)
def test_an_advisory_is_read_as_it_was_told(advisory: Advisory) -> None:
    assert decode_advisory(json.dumps(dict(advisory.told)).encode()) == advisory


@given(letters)
def test_decoding_undoes_encoding(letter: DeadLetter) -> None:
    assert decode_dead_letter(encode_dead_letter(letter)) == letter


@given(letters)
def test_the_advisory_stands_unchanged_in_the_body(letter: DeadLetter) -> None:
    body = json.loads(encode_dead_letter(letter))
    assert {key: value for key, value in body.items() if key not in OURS} == letter.advisory.told


@given(letters, st.integers(0, 1500))
def test_what_does_not_fit_goes_without_the_work_and_says_how_large_that_is(letter: DeadLetter, max_bytes: int) -> None:
    sent = fitted(letter, max_bytes)
    assert sent in (letter, attrs.evolve(letter, work=None))
    assert (sent.work is not None) == (len(encode_dead_letter(letter)) <= max_bytes)
    assert decode_dead_letter(encode_dead_letter(sent)).work_bytes == len(letter.work or b"")


@given(advisories, advisories)
def test_two_letters_have_one_id_if_they_are_of_one_message(one: Advisory, other: Advisory) -> None:
    same = [(a.stream, a.consumer, a.stream_seq) for a in (one, other)]
    ids = {dead_letter(advisory, "s", b"").message_id for advisory in (one, other)}
    assert (len(ids) == 1) == (same[0] == same[1])


@given(advisories)
def test_an_advisory_alone_is_a_letter_without_work(advisory: Advisory) -> None:
    letter = decode_dead_letter(json.dumps(dict(advisory.told)).encode())
    assert (letter.advisory, letter.subject, letter.work) == (advisory, "", None)


@given(st.binary(max_size=40) | strategies.json_maps.map(lambda body: json.dumps(body).encode()))
def test_nothing_else_than_a_wire_error_comes_of_what_is_no_letter(data: bytes) -> None:
    for decode in (decode_advisory, decode_dead_letter):
        with pytest.raises(WireError):
            decode(data)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stream", "WORK POOL"),
        ("stream", ""),
        ("consumer", "c\r\nNats-Msg-Id: other"),
        ("consumer", "a.b"),
        ("stream_seq", 0),
        ("stream_seq", "7"),
        ("timestamp", "then"),
        ("deliveries", None),
    ],
)
def test_a_field_that_could_not_be_the_servers_is_named(field: str, value: Json) -> None:
    with pytest.raises(WireError) as raised:
        advisory_of({**FROM_A_SERVER, field: value})
    assert [problem.loc for problem in raised.value.problems] == [(field,)]


def test_json_nested_without_end_is_refused() -> None:
    with pytest.raises(WireError):
        decode_dead_letter(b"[" * 100_000)


def test_work_that_is_no_base64_is_refused() -> None:
    with pytest.raises(WireError, match="work_item"):
        decode_dead_letter(json.dumps({**FROM_A_SERVER, "work_item": "§"}).encode())
