"""Requests that share one memory: reserved is what is live, and results are put together right or not at all."""

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from property_tests.gateway.core.chunk_strategies import REQUEST, Attempt, attempts, cut, disturbed, result_of
from sie.domain.errors import ERRORS, ErrorCode
from sie.gateway.core.chunk_transfer import Failure, Layout
from sie.gateway.core.chunks import (
    BOOKKEEPING_BYTES,
    COPIES,
    MAX_PROCESS_BYTES,
    MAX_REQUEST_BYTES,
    TOMBSTONES,
    ChunkMemory,
    RequestChunks,
    reservation_bytes,
)
from sie.wire.result import WorkResult, encode_result
from sie.wire.result_chunk import MAX_TRANSFER_BYTES, ResultChunk, decode_reply
from sie.worker.core.chunking import messages_of

ITEMS = 3
ONE = reservation_bytes(200)


@attrs.define(eq=False)
class Asked:
    """A request, and by item what a reader of §16.2 expects of it. `is_spoilt` once something wrong came."""

    chunks: RequestChunks
    reserved: dict[int, int] = attrs.field(factory=dict)
    done: set[int] = attrs.field(factory=set)
    put_together: set[int] = attrs.field(factory=set)
    present: dict[int, Layout] = attrs.field(factory=dict)
    left: set[tuple[int, Layout]] = attrs.field(factory=set)
    is_over: bool = False
    is_spoilt: bool = False

    def end(self) -> None:
        self.is_over = True
        self.reserved.clear()

    def drop(self, item: int) -> None:
        self.reserved.pop(item, None)
        if item in self.present:
            self.left.add((item, self.present.pop(item)))


class ChunksMachine(RuleBasedStateMachine):
    """Several requests over a memory with room for about four transfers, each with room for about two."""

    requests: Bundle[Asked] = Bundle("requests")
    runs: Bundle[Attempt] = Bundle("runs")

    @initialize(target=runs, drawn=st.lists(attempts(1), min_size=3, max_size=3))
    def one_item_ran_several_times(self, drawn: list[Attempt]) -> MultipleResults[Attempt]:
        self.memory = ChunkMemory(4 * ONE)
        self.asked: list[Asked] = []
        self.results = {encode_result(run.result) for run in drawn}
        return multiple(*drawn)

    @rule(target=requests)
    def a_request_opens(self) -> Asked:
        asked = Asked(RequestChunks(REQUEST, ITEMS, self.memory, 2 * ONE))
        self.asked.append(asked)
        return asked

    @rule(target=runs, attempt=attempts(ITEMS))
    def an_item_is_run_again(self, attempt: Attempt) -> Attempt:
        self.results.add(encode_result(attempt.result))
        return attempt

    @rule(asked=requests, attempt=runs)
    def a_whole_run_arrives(self, asked: Asked, attempt: Attempt) -> None:
        for chunk in attempt.chunks:
            self._arrives(asked, chunk)
        is_left = (attempt.result.item_index, Layout.of(attempt.chunks[0])) in asked.left
        assert asked.is_over or is_left or attempt.result.item_index in asked.done

    @rule(asked=requests, attempt=runs, at=st.integers(0, 4))
    def a_chunk_arrives(self, asked: Asked, attempt: Attempt, at: int) -> None:
        self._arrives(asked, attempt.chunks[at % len(attempt.chunks)])

    @rule(asked=requests, attempt=runs, data=st.data())
    def a_bad_chunk_arrives(self, asked: Asked, attempt: Attempt, data: st.DataObject) -> None:
        asked.is_spoilt = True
        self._arrives(asked, data.draw(st.sampled_from(attempt.chunks).flatmap(disturbed)))

    @rule(asked=requests)
    def a_chunk_that_cannot_be_read_arrives(self, asked: Asked) -> None:
        assert asked.chunks.fail("malformed") == Failure("malformed")
        asked.end()

    @rule(asked=requests, item=st.integers(0, ITEMS - 1))
    def a_result_in_one_message_counts(self, asked: Asked, item: int) -> None:
        asked.chunks.settle(item)
        if item not in asked.done:
            asked.drop(item)
            asked.done.add(item)

    @rule(asked=requests, item=st.integers(0, ITEMS - 1))
    def a_result_that_was_put_together_does_not_count(self, asked: Asked, item: int) -> None:
        if item in asked.put_together:
            asked.chunks.reject(item)
            asked.drop(item)
            asked.done.discard(item)
            asked.put_together.discard(item)

    @rule(asked=consumes(requests))
    def a_request_ends(self, asked: Asked) -> None:
        asked.chunks.release()
        asked.chunks.release()
        asked.end()
        assert asked.chunks.receive(result_chunk(0)) is None, "it is late"

    def _arrives(self, asked: Asked, chunk: ResultChunk) -> None:
        item, late = chunk.item_index, self.memory.late
        received = asked.chunks.receive(chunk)
        match received:
            case Failure(reason):
                assert not asked.is_over
                assert asked.is_spoilt or reason in ("request_budget", "global_budget")
                asked.end()
            case WorkResult() as result:
                assert item not in asked.done
                assert encode_result(result) in self.results
                assert result.item_index == item
                self._holds(asked, chunk)
                asked.left.add((item, asked.present.pop(item)))
                asked.done.add(item)
                asked.put_together.add(item)
            case None if self.memory.late == late:
                self._holds(asked, chunk)
            case None:
                assert asked.is_over or item in asked.done or self._is_past(asked, chunk)

    def _holds(self, asked: Asked, chunk: ResultChunk) -> None:
        """The chunk was taken: its transfer is the item's, and no other is."""
        assert not asked.is_over
        assert (chunk.item_index, Layout.of(chunk)) not in asked.left
        if asked.present.get(chunk.item_index) != Layout.of(chunk):
            assert chunk.item_index not in asked.present or chunk.chunk_index == 0
            asked.drop(chunk.item_index)
            asked.present[chunk.item_index] = Layout.of(chunk)
        asked.reserved[chunk.item_index] = reservation_bytes(chunk.total_bytes)

    def _is_past(self, asked: Asked, chunk: ResultChunk) -> bool:
        is_other = asked.present.get(chunk.item_index) not in (None, Layout.of(chunk))
        return (chunk.item_index, Layout.of(chunk)) in asked.left or (is_other and chunk.chunk_index != 0)

    @invariant()
    def what_is_reserved_is_what_is_live(self) -> None:
        for asked in getattr(self, "asked", ()):
            assert asked.chunks.reserved_bytes == sum(asked.reserved.values()) <= asked.chunks.max_bytes
            assert asked.chunks.is_closed == asked.is_over
        if hasattr(self, "memory"):
            expected = sum(asked.chunks.reserved_bytes for asked in self.asked)
            assert self.memory.reserved_bytes == expected <= self.memory.max_bytes

    def teardown(self) -> None:
        for asked in getattr(self, "asked", ()):
            asked.chunks.release()
        assert not hasattr(self, "memory") or self.memory.reserved_bytes == 0


TestChunks = ChunksMachine.TestCase
TestChunks.settings = settings(suppress_health_check=[HealthCheck.too_slow], stateful_step_count=60)


def result_chunk(item: int, blob: bytes = b"x", count: int = 1) -> ResultChunk:
    return cut(item, encode_result(result_of(item, blob)), tuple(range(count - 1)))[0]


def opened(memory: ChunkMemory | None = None, *, max_bytes: int = MAX_REQUEST_BYTES) -> RequestChunks:
    return RequestChunks(REQUEST, ITEMS, memory or ChunkMemory(), max_bytes)


def test_the_limits_are_the_references() -> None:
    mib = 1024 * 1024
    assert (COPIES, BOOKKEEPING_BYTES) == (3, 4096)
    assert (16 * mib, 64 * mib, 256 * mib) == (MAX_TRANSFER_BYTES, MAX_REQUEST_BYTES, MAX_PROCESS_BYTES)
    assert reservation_bytes(MAX_TRANSFER_BYTES) <= MAX_REQUEST_BYTES


def test_what_a_client_is_told_of_a_failure_never_changes_and_asks_for_no_retry() -> None:
    told = {(Failure(reason).code, Failure(reason).message) for reason in ("digest", "identity", "global_budget")}
    ((code, message),) = told
    assert (code, ERRORS[code].status, ERRORS[code].retry_after_s) == (ErrorCode.TRANSPORT_FAILURE, 503, None)
    assert not any(character.isdigit() for character in message)


@given(st.integers(2, 5), st.integers(2, 5), st.data())
def test_what_is_left_of_a_replaced_run_changes_nothing(one: int, two: int, data: st.DataObject) -> None:
    first, second = Attempt.even(0, b"a" * 9, one), Attempt.even(0, b"b" * 9, two)
    request = opened()
    assert request.receive(first.chunks[0]) is request.receive(second.chunks[0]) is None
    rest = data.draw(st.permutations([*first.chunks, *second.chunks[1:]]))
    received = [request.receive(chunk) for chunk in rest]
    assert [one for one in received if one is not None] == [second.result]
    assert request.memory.late == len(first.chunks)


@given(st.integers(2, 5), st.integers(3, 5), st.data())
def test_the_middle_of_a_run_whose_beginning_has_not_come_is_ignored(one: int, two: int, data: st.DataObject) -> None:
    first, second = Attempt.even(0, b"a" * 9, one), Attempt.even(0, b"b" * 9, two)
    request = opened()
    assert request.receive(data.draw(st.sampled_from(first.chunks))) is None
    assert request.receive(data.draw(st.sampled_from(second.chunks[1:]))) is None
    assert request.memory.late == 1
    assert first.result in [request.receive(chunk) for chunk in first.chunks]


def test_one_digest_cannot_have_two_lengths() -> None:
    first, anew = Attempt.even(0, b"a" * 9, 2), Attempt.even(0, b"a" * 9, 3)
    request = opened()
    assert request.receive(first.chunks[0]) is None
    assert request.receive(attrs.evolve(anew.chunks[0], total_bytes=999)) == Failure("metadata")


def test_one_digest_may_come_anew_in_another_number_of_chunks() -> None:
    first, anew = Attempt.even(0, b"a" * 9, 2), Attempt.even(0, b"a" * 9, 3)
    request = opened()
    received = [request.receive(chunk) for chunk in (first.chunks[0], *anew.chunks[:2], *first.chunks, anew.chunks[2])]
    assert received == [None] * 5 + [anew.result]


@given(attempts(ITEMS), st.data())
def test_one_bad_chunk_ends_the_request_and_gives_back_all_that_it_held(attempt: Attempt, data: st.DataObject) -> None:
    request = opened()
    request.receive(result_chunk((attempt.result.item_index + 1) % ITEMS, count=2))
    bad = data.draw(st.sampled_from(attempt.chunks).flatmap(disturbed))
    chunks = [bad if chunk.chunk_index == bad.chunk_index else chunk for chunk in attempt.chunks]
    received = [request.receive(chunk) for chunk in data.draw(st.permutations(chunks))]
    (failure,) = [one for one in received if one is not None]
    assert isinstance(failure, Failure)
    assert (request.is_closed, request.reserved_bytes, request.memory.reserved_bytes) == (True, 0, 0)
    assert request.memory.failures == {failure.reason: 1}


@given(st.integers(1, 5), st.integers(0, 5))
def test_a_budget_that_is_spent_fails_the_request_and_no_other(fitting: int, over: int) -> None:
    size = result_chunk(0, count=2).total_bytes
    memory = ChunkMemory(fitting * reservation_bytes(size))
    requests = [opened(memory) for _ in range(fitting + over)]
    outcomes = [request.receive(result_chunk(0, count=2)) for request in requests]
    assert outcomes == [None] * fitting + [Failure("global_budget")] * over
    assert memory.failures["global_budget"] == over
    assert memory.reserved_bytes == memory.max_bytes


@given(st.integers(0, ITEMS))
def test_a_requests_own_budget_is_kept_though_the_process_has_room(fitting: int) -> None:
    memory, size = ChunkMemory(), result_chunk(0, count=2).total_bytes
    request = opened(memory, max_bytes=fitting * reservation_bytes(size))
    outcomes = [request.receive(result_chunk(item, count=2)) for item in range(ITEMS)]
    refused = [Failure("request_budget")] if fitting < ITEMS else []
    assert outcomes[: fitting + 1] == [None] * fitting + refused
    assert memory.reserved_bytes == (0 if refused else request.max_bytes)


@pytest.mark.parametrize("whole", [b"\xc1\xc1", encode_result(result_of(1, b"")), b"\x80"])
def test_what_is_put_together_and_is_not_the_items_result_fails_closed(whole: bytes) -> None:
    request = opened()
    (first, *rest) = cut(0, whole, (0,))
    received = [request.receive(chunk) for chunk in (first, *rest)][-1]
    assert isinstance(received, Failure)
    assert request.memory.reserved_bytes == 0


@given(st.integers(0, 2 * TOMBSTONES))
def test_however_often_an_item_is_run_anew_one_reservation_is_held_and_few_are_remembered(runs: int) -> None:
    request = opened()
    for number in range(runs):
        assert request.receive(result_chunk(0, bytes([number]), 2)) is None
        assert request.reserved_bytes == reservation_bytes(result_chunk(0, bytes([number]), 2).total_bytes)
    last = cut(0, encode_result(result_of(0, b"\xff")), (5,))
    assert [request.receive(chunk) for chunk in last] == [None, result_of(0, b"\xff")]
    assert all(len(item.left) <= TOMBSTONES for item in request._items.values())


@given(st.integers(0, 20_000), st.integers(600, 30_000), st.data())
def test_what_a_worker_sends_is_put_together(size: int, max_payload: int, data: st.DataObject) -> None:
    result, request = result_of(0, b"z" * size), opened()
    replies = [decode_reply(one) for one in messages_of(result, max_payload=max_payload, accepts_chunks=True)]
    received = [
        request.receive(one) if isinstance(one, ResultChunk) else one for one in data.draw(st.permutations(replies))
    ]
    assert [one for one in received if one is not None] == [result]
