"""A collector ends exactly once, with the first result of each of its items, whatever else arrives."""

from hashlib import sha256

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ErrorCode
from sie.gateway.core.chunks import ChunkMemory, RequestChunks
from sie.gateway.core.collect import Collected, Collector, GaveUp
from sie.wire.result import WorkResult, encode_result
from sie.wire.result_chunk import ResultChunk


def result(request: str, index: int, mark: int) -> WorkResult:
    return WorkResult(
        work_item_id=f"{request}.{index}",
        request_id=request,
        item_index=index,
        success=True,
        result_msgpack=bytes([mark]),
    )


def collector_of(total: int) -> Collector:
    return Collector("mine", total, RequestChunks("mine", total, ChunkMemory()))


ARRIVALS = st.lists(st.tuples(st.sampled_from(["mine", "other"]), st.integers(-1, 5), st.integers(0, 255)))


@given(st.integers(1, 4), ARRIVALS)
def test_the_first_result_of_each_item_counts_and_nothing_else_does(
    total: int, arrivals: list[tuple[str, int, int]]
) -> None:
    collector, first = collector_of(total), dict[int, bytes]()
    for request, index, mark in arrivals:
        over = collector.receive(result(request, index, mark))
        if request == "mine" and 0 <= index < total:
            first.setdefault(index, bytes([mark]))
        assert over == (len(first) == total)
    assert collector.missing() == tuple(index for index in range(total) if index not in first)
    if len(first) == total:
        assert isinstance(collector.ending, Collected)
        assert [r.result_msgpack for r in collector.ending.results] == [first[index] for index in range(total)]


@given(st.integers(1, 3), st.permutations(["give up", "finish"]))
def test_the_first_ending_stands(total: int, order: list[str]) -> None:
    collector = collector_of(total)
    for step in order:
        if step == "give up":
            collector.give_up(ErrorCode.QUEUE_UNAVAILABLE, "gone")
        else:
            for index in range(total):
                collector.receive(result("mine", index, 0))
    assert isinstance(collector.ending, GaveUp if order[0] == "give up" else Collected)


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["direct", "pool", "resend"])), max_size=20),
)
def test_a_stale_direct_result_never_counts(total: int, steps: list[tuple[int, str]]) -> None:
    collector, resent, counted = collector_of(total), set[int](), dict[int, str]()
    for index, step in steps:
        if step == "resend":
            collector.resent(index)
            resent.add(index)
            continue
        came = attrs.evolve(result("mine", index, 0), origin="direct" if step == "direct" else None)
        collector.receive(came)
        if index < total and not (step == "direct" and index in resent):
            counted.setdefault(index, step)
    assert collector.missing() == tuple(index for index in range(total) if index not in counted)
    if isinstance(collector.ending, Collected):
        assert {r.item_index: "direct" if r.origin else "pool" for r in collector.ending.results} == counted


@given(st.binary(min_size=1, max_size=200), st.integers(1, 40), st.permutations(range(3)), st.booleans())
def test_a_result_in_chunks_is_as_good_as_one_in_one_piece(
    blob: bytes, size: int, order: list[int], is_stale: bool
) -> None:
    collector = collector_of(3)
    collector.resent(1)
    for index in order:
        came = attrs.evolve(result("mine", index, 0), origin="direct" if is_stale and index == 1 else None)
        whole = encode_result(attrs.evolve(came, result_msgpack=blob))
        for chunk in chunks_of(whole, index, -(-len(whole) // min(64, -(-len(whole) // size)))):
            collector.receive(chunk)
    if is_stale:
        assert collector.missing() == (1,)
    else:
        assert isinstance(collector.ending, Collected)
        assert {r.result_msgpack for r in collector.ending.results} == {blob}
    collector.chunks.release()
    assert collector.chunks.memory.reserved_bytes == 0


def test_what_says_that_it_is_a_chunk_and_is_none_fails_the_request_closed() -> None:
    collector = collector_of(2)
    collector.receive(result("mine", 0, 1))
    collector.spoil()
    assert isinstance(collector.ending, GaveUp)
    assert collector.ending.code is ErrorCode.TRANSPORT_FAILURE


def chunks_of(whole: bytes, index: int, size: int) -> list[ResultChunk]:
    parts = [whole[at : at + size] for at in range(0, len(whole), size)]
    return [
        ResultChunk(
            work_item_id=f"mine.{index}",
            request_id="mine",
            item_index=index,
            transfer_digest=sha256(whole).digest(),
            chunk_index=at,
            chunk_count=len(parts),
            total_bytes=len(whole),
            payload=part,
        )
        for at, part in enumerate(parts)
    ]
