"""A result that fits no message of the broker comes as chunks (§16.2): how is one written, and which are refused?

A chunk that says it is one and breaks a rule is an error of its own kind: its request must fail closed, where any
other message that cannot be read may be dropped. All chunks of one transfer carry the digest of the whole result.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import attrs

from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, Problem, WireError, kind_of, structure
from sie.wire.result import WorkResult, decode_usual_result

KIND = "result_chunk_v1"
_KIND = KIND.encode()
VERSION = 1
MAX_CHUNKS = 64
MAX_TRANSFER_BYTES = 16 * 1024 * 1024
DIGEST_BYTES = 32
"""SHA-256 of the encoded WorkResult."""


class ChunkError(WireError):
    """A message that says it is a chunk, and breaks a rule of chunks."""


@attrs.frozen(kw_only=True)
class ResultChunk:
    """`total_bytes` is the length of the whole encoded result, of which this is part `chunk_index` of `chunk_count`."""

    work_item_id: str
    request_id: str
    item_index: int
    transfer_digest: bytes
    chunk_index: int
    chunk_count: int
    total_bytes: int
    payload: bytes


Reply: TypeAlias = WorkResult | ResultChunk


def encode_chunk(chunk: ResultChunk) -> bytes:
    return pack({"kind": KIND, "version": VERSION, **attrs.asdict(chunk)})


def decode_reply(data: bytes) -> Reply:
    """What came on a router's inbox. Raises WireError, for a chunk ChunkError."""
    usual = decode_usual_result(data) if _KIND not in data else None
    if usual is not None:
        return usual
    value = unpack(data)
    if isinstance(value, Mapping) and value.get("kind") == KIND:
        return _chunk(value)
    return structure(TOLERANT, value, WorkResult)


def decode_chunk(data: bytes) -> ResultChunk:
    """Raises ChunkError."""
    try:
        value = unpack(data)
    except WireError as error:
        raise ChunkError(error.problems) from error
    if not isinstance(value, Mapping):
        raise ChunkError.at(message=f"must be a map, not {kind_of(value)}")
    if value.get("kind") != KIND:
        raise ChunkError.at("kind", message=f"must be {KIND!r}, not {value.get('kind')!r:.40}")
    return _chunk(value)


def _chunk(value: Mapping[object, object]) -> ResultChunk:
    version = value.get("version")
    if version != VERSION or isinstance(version, bool):
        raise ChunkError.at("version", message=f"must be {VERSION}, not {version!r:.40}")
    try:
        chunk = structure(TOLERANT, value, ResultChunk)
    except WireError as error:
        raise ChunkError(error.problems) from error
    if problems := tuple(_broken_rules(chunk)):
        raise ChunkError(problems)
    return chunk


def _broken_rules(chunk: ResultChunk) -> Iterator[Problem]:
    """A chunk is never empty, so neither are there more chunks than bytes, nor does one hold what is left to others."""
    yield from _outside("item_index", chunk.item_index, 0, None)
    yield from _outside("transfer_digest", len(chunk.transfer_digest), DIGEST_BYTES, DIGEST_BYTES, "bytes")
    yield from _outside("total_bytes", chunk.total_bytes, 1, MAX_TRANSFER_BYTES)
    yield from _outside("chunk_count", chunk.chunk_count, 1, min(MAX_CHUNKS, max(1, chunk.total_bytes)))
    yield from _outside("chunk_index", chunk.chunk_index, 0, max(0, chunk.chunk_count - 1))
    longest = max(1, chunk.total_bytes - max(0, chunk.chunk_count - 1))
    yield from _outside("payload", len(chunk.payload), longest if chunk.chunk_count == 1 else 1, longest, "bytes")


def _outside(field: str, value: int, least: int, most: int | None, unit: str = "") -> Iterator[Problem]:
    if value < least or (most is not None and value > most):
        allowed = f"at least {least}" if most is None else f"{least}" if least == most else f"{least} to {most}"
        yield Problem((field,), f"must be {allowed}{unit and ' ' + unit}, not {value}")
