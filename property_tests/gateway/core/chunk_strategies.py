"""What Hypothesis draws of transfers: results, and the chunks of one result however a peer may cut it."""

from hashlib import sha256
from itertools import pairwise

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.wire.result import WorkResult, encode_result
from sie.wire.result_chunk import ResultChunk

REQUEST = "r1"


def result_of(item_index: int, blob: bytes) -> WorkResult:
    return WorkResult(
        work_item_id=f"{REQUEST}.{item_index}",
        request_id=REQUEST,
        item_index=item_index,
        success=True,
        result_msgpack=blob,
    )


def cut(item_index: int, whole: bytes, cuts: tuple[int, ...]) -> tuple[ResultChunk, ...]:
    """The chunks of `whole`, cut at these places."""
    places = sorted({0, len(whole), *(1 + place % max(1, len(whole) - 1) for place in cuts)})
    parts = [whole[start:end] for start, end in pairwise(places)]
    return tuple(
        ResultChunk(
            work_item_id=f"{REQUEST}.{item_index}",
            request_id=REQUEST,
            item_index=item_index,
            transfer_digest=sha256(whole).digest(),
            chunk_index=index,
            chunk_count=len(parts),
            total_bytes=len(whole),
            payload=part,
        )
        for index, part in enumerate(parts)
    )


@attrs.frozen
class Attempt:
    """One run of an item: its result, and how its worker cut it."""

    result: WorkResult
    chunks: tuple[ResultChunk, ...]

    @classmethod
    def of(cls, item_index: int, blob: bytes, cuts: tuple[int, ...]) -> "Attempt":
        result = result_of(item_index, blob)
        return cls(result, cut(item_index, encode_result(result), cuts))

    @classmethod
    def even(cls, item_index: int, blob: bytes, count: int) -> "Attempt":
        """Cut as workers do it: the digest and the count say where."""
        room = -(-len(encode_result(result_of(item_index, blob))) // count)
        return cls.of(item_index, blob, tuple(room * index - 1 for index in range(1, count)))


cuts: SearchStrategy[tuple[int, ...]] = st.lists(st.integers(0, 1000), max_size=4).map(tuple)


def attempts(items: int) -> SearchStrategy[Attempt]:
    """Few blobs, so that attempts of one item are often the same bytes in another number of chunks."""
    blobs = st.sampled_from([b"a" * 9, b"b" * 9, b"c" * 90])
    return st.builds(Attempt.even, st.integers(0, items - 1), blobs, st.integers(1, 5))


@st.composite
def disturbed(draw: st.DrawFn, chunk: ResultChunk) -> ResultChunk:
    """The chunk with one thing about it wrong, as the decoder would still let it pass."""
    other = draw(st.sampled_from(["payload", "longer", "work_item_id", "request_id", "total_bytes"]))
    match other:
        case "payload":
            return attrs.evolve(chunk, payload=bytes(byte ^ 1 for byte in chunk.payload))
        case "longer":
            return attrs.evolve(chunk, payload=chunk.payload + b"x")
        case "work_item_id":
            return attrs.evolve(chunk, work_item_id=f"{REQUEST}.99")
        case "request_id":
            return attrs.evolve(chunk, request_id="r2")
        case _:
            return attrs.evolve(chunk, total_bytes=chunk.total_bytes + 1)
