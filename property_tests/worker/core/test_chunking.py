"""Whatever a result holds and the broker takes: what is sent fits, and is the result or an error that says why not."""

from hashlib import sha256

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ErrorCode
from sie.testing import message_strategies as messages
from sie.wire.result import WorkResult, decode_result, encode_result
from sie.wire.result_chunk import MAX_CHUNKS, MAX_TRANSFER_BYTES, decode_chunk
from sie.worker.core.chunking import messages_of

MIB = 1024 * 1024
results = st.builds(
    lambda result, size: attrs.evolve(result, success=True, result_msgpack=b"\xab" * size, error=None),
    messages.work_results,
    st.integers(0, 200_000),
)


@given(results, st.integers(1000, 200_000))
def test_what_fits_one_message_is_one(result: WorkResult, max_payload: int) -> None:
    encoded = encode_result(result)
    sent = messages_of(result, max_payload=max_payload, accepts_chunks=True)
    assert (sent == (encoded,)) == (len(encoded) <= max_payload)


@given(results, st.integers(1500, 60_000))
def test_chunks_fit_and_join_to_the_result(result: WorkResult, max_payload: int) -> None:
    encoded = encode_result(result)
    sent = messages_of(result, max_payload=max_payload, accepts_chunks=True)
    assert max(map(len, sent)) <= max_payload
    if len(sent) == 1:
        assert len(encoded) <= max_payload or not decode_result(sent[0]).success
        return
    chunks = [decode_chunk(message) for message in sent]
    assert b"".join(chunk.payload for chunk in chunks) == encoded
    assert {chunk.transfer_digest for chunk in chunks} == {sha256(encoded).digest()}
    assert {(c.work_item_id, c.request_id, c.item_index) for c in chunks} == {
        (result.work_item_id, result.request_id, result.item_index)
    }
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    assert {(chunk.chunk_count, chunk.total_bytes) for chunk in chunks} == {(len(chunks), len(encoded))}
    assert len(chunks) == 2 or max(map(len, sent)) > max_payload - 8, "no message has room for many bytes more"


@given(results, st.integers(1000, 60_000), st.booleans())
def test_what_cannot_be_carried_is_an_error_that_fits_and_names_both_sizes(
    result: WorkResult, max_payload: int, accepts_chunks: bool
) -> None:
    encoded = encode_result(result)
    sent = messages_of(result, max_payload=max_payload, accepts_chunks=accepts_chunks)
    if len(sent) > 1 or sent == (encoded,):
        assert accepts_chunks or len(encoded) <= max_payload
        return
    error = decode_result(sent[0])
    assert len(sent[0]) <= max_payload
    assert (error.success, error.error_code) == (False, ErrorCode.PAYLOAD_TOO_LARGE)
    assert str(len(encoded)) in (error.error or "")
    assert not accepts_chunks or len(encoded) > max_payload * MAX_CHUNKS // 2


@pytest.mark.parametrize("over_bytes", [0, 1])
def test_a_transfer_ends_at_sixteen_mebibytes(over_bytes: int) -> None:
    bare = WorkResult(work_item_id="r.0", request_id="r", item_index=0, success=True, result_msgpack=b"x" * 70_000)
    frame_bytes = len(encode_result(bare)) - 70_000
    whole = attrs.evolve(bare, result_msgpack=bytes(MAX_TRANSFER_BYTES - frame_bytes + over_bytes))
    sent = messages_of(whole, max_payload=MIB, accepts_chunks=True)
    assert (len(sent) == 1) == bool(over_bytes)
    if over_bytes:
        assert str(MAX_TRANSFER_BYTES) in (decode_result(sent[0]).error or "")


def test_a_broker_whose_messages_are_smaller_than_a_frame_gets_the_error_alone() -> None:
    result = WorkResult(work_item_id="r.0", request_id="r", item_index=0, success=True, result_msgpack=b"x" * 300)
    (sent,) = messages_of(result, max_payload=150, accepts_chunks=True)
    assert "at most 150 can be sent" in (decode_result(sent).error or "")
