"""One transfer: in any order and with any repetition it gives the whole once, and never anything else."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core.chunk_strategies import Attempt, attempts, cuts, disturbed
from sie.gateway.core.chunk_transfer import Failure, Layout, Transfer
from sie.wire.result import encode_result


def begun(attempt: Attempt) -> Transfer:
    return Transfer(Layout.of(attempt.chunks[0]), attempt.chunks[0].total_bytes)


@given(st.binary(max_size=60), cuts, st.data())
def test_any_order_with_any_repetition_gives_the_whole_with_the_last_new_chunk(
    blob: bytes, places: tuple[int, ...], data: st.DataObject
) -> None:
    attempt = Attempt.of(0, blob, places)
    again = data.draw(st.lists(st.sampled_from(attempt.chunks), max_size=5))
    arrivals = data.draw(st.permutations([*attempt.chunks, *again]))
    transfer, seen = begun(attempt), set[int]()
    for chunk in arrivals:
        copy = attrs.evolve(chunk, payload=bytes(bytearray(chunk.payload)))
        is_last = chunk.chunk_index not in seen and len(seen) == len(attempt.chunks) - 1
        seen.add(chunk.chunk_index)
        assert transfer.add(copy) == (encode_result(attempt.result) if is_last else None)


@given(attempts(1), st.data())
def test_with_one_chunk_disturbed_there_is_a_failure_and_no_whole(attempt: Attempt, data: st.DataObject) -> None:
    broken = data.draw(st.sampled_from(attempt.chunks).flatmap(disturbed))
    arrivals = data.draw(st.permutations([c for c in attempt.chunks if c.chunk_index != broken.chunk_index]))
    at = data.draw(st.integers(0, len(arrivals)))
    transfer = begun(attempt)
    received = [transfer.add(chunk) for chunk in (*arrivals[:at], broken, *arrivals[at:])]
    names_wrongly = broken.work_item_id != attempt.result.work_item_id or broken.request_id != attempt.result.request_id
    assert any(isinstance(one, Failure) for one in received) != names_wrongly, "names are the request's to check"
    assert any(isinstance(one, bytes) for one in received) == names_wrongly


@given(attempts(1), st.data())
def test_a_chunk_that_says_something_else_the_second_time_is_a_conflict(attempt: Attempt, data: st.DataObject) -> None:
    chunk = data.draw(st.sampled_from(attempt.chunks))
    transfer = begun(attempt)
    transfer.add(chunk)
    assert transfer.add(attrs.evolve(chunk, payload=chunk.payload + b"x")) == Failure("conflict")


@given(st.integers(2, 64), st.data())
def test_no_more_is_held_than_the_whole_is_long(count: int, data: st.DataObject) -> None:
    total = data.draw(st.integers(count, 2000))
    chunk = attrs.evolve(Attempt.of(0, b"", ()).chunks[0], chunk_count=count, total_bytes=total)
    transfer, held = Transfer(Layout.of(chunk), total), 0
    for index in data.draw(st.permutations(range(count))):
        payload = bytes(data.draw(st.integers(1, total - count + 1)))
        received = transfer.add(attrs.evolve(chunk, chunk_index=index, payload=payload))
        held += len(payload)
        if isinstance(received, Failure):
            assert received.reason in ("length", "digest")
            return
        assert held <= total
