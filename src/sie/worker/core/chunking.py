"""How does a result travel that is longer than one message of the broker (§8.4, §16.2)? In chunks, or as an error.

Chunks go to a gateway that said it takes them. What no chunks can carry either becomes a typed error that fits.
"""

from collections.abc import Iterator
from hashlib import sha256

import attrs

from sie.wire.result import WorkResult, encode_result
from sie.wire.result_chunk import MAX_CHUNKS, MAX_TRANSFER_BYTES, ResultChunk, encode_chunk
from sie.worker.core.results import too_large

BIN_HEADER_BYTES = 3
"""msgpack's header of a payload is at most this much longer than that of an empty one."""


def messages_of(result: WorkResult, *, max_payload: int, accepts_chunks: bool) -> tuple[bytes, ...]:
    """What is to be published, in order: one message, or the chunks of one transfer."""
    encoded = encode_result(result)
    if len(encoded) <= max_payload:
        return (encoded,)
    frame = _frame(result, encoded)
    room = max_payload - len(encode_chunk(frame)) - BIN_HEADER_BYTES
    most = min(MAX_TRANSFER_BYTES, room * MAX_CHUNKS) if accepts_chunks else 0
    if len(encoded) > most:
        return (encode_result(too_large(result, size_bytes=len(encoded), max_bytes=max(most, max_payload))),)
    return tuple(map(encode_chunk, _split(frame, encoded, room)))


def _split(frame: ResultChunk, encoded: bytes, room: int) -> Iterator[ResultChunk]:
    count = -(-len(encoded) // room)
    for index in range(count):
        part = encoded[index * room : (index + 1) * room]
        yield attrs.evolve(frame, chunk_index=index, chunk_count=count, payload=part)


def _frame(result: WorkResult, encoded: bytes) -> ResultChunk:
    """A chunk without a payload, no shorter than those that are sent."""
    return ResultChunk(
        work_item_id=result.work_item_id,
        request_id=result.request_id,
        item_index=result.item_index,
        transfer_digest=sha256(encoded).digest(),
        chunk_index=MAX_CHUNKS,
        chunk_count=MAX_CHUNKS,
        total_bytes=len(encoded),
        payload=b"",
    )
