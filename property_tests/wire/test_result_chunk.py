"""Chunks are read as they were written; what breaks a rule is refused with its field; nothing makes reading crash."""

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.testing import message_strategies as messages
from sie.testing import strategies
from sie.wire.codec import pack, unpack
from sie.wire.converters import WireError
from sie.wire.result import WorkResult, encode_result
from sie.wire.result_chunk import (
    KIND,
    MAX_CHUNKS,
    MAX_TRANSFER_BYTES,
    ChunkError,
    ResultChunk,
    decode_chunk,
    decode_reply,
    encode_chunk,
)
from tests.wire.refusals import problems_of, with_each_field_wrong


@st.composite
def chunks(draw: st.DrawFn) -> ResultChunk:
    payload = draw(st.binary(min_size=1, max_size=40))
    count = draw(st.integers(1, MAX_CHUNKS))
    more = draw(st.integers(count - 1, 1000)) if count > 1 else 0
    return ResultChunk(
        work_item_id=draw(strategies.texts),
        request_id=draw(strategies.request_ids),
        item_index=draw(st.integers(0, 4095)),
        transfer_digest=draw(st.binary(min_size=32, max_size=32)),
        chunk_index=draw(st.integers(0, count - 1)),
        chunk_count=count,
        total_bytes=len(payload) + more,
        payload=payload,
    )


@given(chunks())
def test_decoding_undoes_encoding(chunk: ResultChunk) -> None:
    assert decode_reply(encode_chunk(chunk)) == decode_chunk(encode_chunk(chunk)) == chunk


@given(messages.work_results, strategies.json_maps)
def test_a_result_is_a_result_whatever_keys_it_gains(result: WorkResult, more: dict[str, object]) -> None:
    written = unpack(encode_result(result))
    assert isinstance(written, dict)
    grown = {**{f"new_{key}": value for key, value in more.items()}, "total_bytes": 1, "kind": "result_chunk_v2"}
    assert decode_reply(encode_result(result)) == decode_reply(pack({**grown, **written})) == result


@given(chunks())
def test_a_value_of_the_wrong_type_is_refused_with_its_place(chunk: ResultChunk) -> None:
    for name, data in with_each_field_wrong(encode_chunk(chunk)):
        assert [p.loc[0] for p in problems_of(decode_chunk, data)] == [name]


BROKEN: dict[str, SearchStrategy[int] | SearchStrategy[bytes]] = {
    "item_index": st.integers(-(2**63), -1),
    "transfer_digest": st.binary(max_size=31) | st.binary(min_size=33, max_size=64),
    "total_bytes": st.integers(-(2**63), 0) | st.integers(MAX_TRANSFER_BYTES + 1, 2**63),
    "chunk_count": st.integers(-(2**63), 0) | st.integers(MAX_CHUNKS + 1, 2**63),
    "chunk_index": st.integers(-(2**63), -1) | st.integers(MAX_CHUNKS, 2**63),
    "payload": st.just(b"") | st.binary(min_size=1041, max_size=1100),
}


@pytest.mark.parametrize("field", BROKEN)
@given(chunk=chunks(), data=st.data())
def test_a_broken_rule_names_field_limit_and_value(field: str, chunk: ResultChunk, data: st.DataObject) -> None:
    value: object = data.draw(BROKEN[field])
    broken = {**attrs.asdict(chunk), "kind": KIND, "version": 1, field: value}
    with pytest.raises(ChunkError) as caught:
        decode_reply(pack(broken))
    (problem,) = [p for p in caught.value.problems if p.loc == (field,)]
    assert problem.message.startswith("must be ")
    assert problem.message.endswith(f", not {len(value) if isinstance(value, bytes) else value}")


@given(chunks(), st.none() | st.booleans() | st.integers(2, 2**64 - 1) | st.floats(2, 9) | strategies.texts)
def test_another_version_is_refused(chunk: ResultChunk, version: object) -> None:
    written = {**attrs.asdict(chunk), "kind": KIND, "version": version}
    assert [p.loc for p in problems_of(decode_chunk, pack(written))] == [("version",)]


@given(st.binary() | strategies.json_values.map(pack) | chunks().map(encode_chunk), st.data())
@example(pack({"kind": KIND}), None)
@example(pack({b"kind": KIND, 1: 2}), None)
def test_what_is_cut_short_or_changed_is_a_reply_or_a_refusal(data: bytes, draw: st.DataObject | None) -> None:
    if draw is not None and data:
        at = draw.draw(st.integers(0, len(data) - 1))
        data = data[:at] + draw.draw(st.binary(max_size=2)) + data[at + draw.draw(st.integers(0, 2)) :]
    says_so = _kind(data) == KIND
    try:
        reply: object = decode_reply(data)
    except WireError as error:
        reply = error
    assert isinstance(reply, ResultChunk | ChunkError) == says_so


@given(st.binary() | strategies.json_values.map(pack))
def test_what_is_no_chunk_at_all_is_refused_as_one_where_one_is_due(data: bytes) -> None:
    if _kind(data) != KIND:
        with pytest.raises(ChunkError):
            decode_chunk(data)


def _kind(data: bytes) -> object:
    try:
        value = unpack(data)
    except WireError:
        return None
    return value.get("kind") if isinstance(value, dict) else None
