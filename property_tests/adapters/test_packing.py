"""Whatever the lengths, every sequence is computed once, in a row that holds it, with little padding."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.adapters.packing import MAX_BATCH_TOKENS, Bucket, Plan, ladder, plan_batches

max_lengths = st.integers(8, 600)


@st.composite
def requests(draw: st.DrawFn) -> tuple[int, list[int]]:
    max_length = draw(max_lengths)
    return max_length, draw(st.lists(st.integers(1, max_length), max_size=200))


def plan(request: tuple[int, list[int]]) -> Plan:
    max_length, lengths = request
    return plan_batches(lengths, ladder(max_length))


@given(requests())
def test_every_sequence_is_in_exactly_one_row(request_: tuple[int, list[int]]) -> None:
    members = [index for batch in plan(request_).batches for row in batch.rows for index in row]
    assert Counter(members) == Counter(range(len(request_[1])))


@given(requests())
def test_no_row_holds_more_tokens_or_segments_than_its_bucket(request_: tuple[int, list[int]]) -> None:
    for batch in plan(request_).batches:
        assert 1 <= len(batch.rows) <= batch.bucket.rows
        for row in batch.rows:
            assert sum(request_[1][index] for index in row) <= batch.bucket.length
            assert 1 <= len(row) <= batch.bucket.segments


@given(requests())
def test_only_compiled_buckets_are_used(request_: tuple[int, list[int]]) -> None:
    assert {batch.bucket for batch in plan(request_).batches} <= set(ladder(request_[0]))


@given(requests())
def test_fill_is_real_tokens_over_computed_tokens(request_: tuple[int, list[int]]) -> None:
    planned = plan(request_)
    assert 0 < planned.fill <= 1
    assert planned.tokens == sum(request_[1])


@given(st.lists(st.integers(4, 64), min_size=200, max_size=400))
def test_many_short_sequences_leave_at_most_a_tenth_of_padding(lengths: list[int]) -> None:
    assert plan_batches(lengths, ladder(256)).fill >= 0.9


@given(st.integers(1, 256))
def test_a_lone_sequence_runs_in_the_shortest_bucket_that_holds_it(length: int) -> None:
    (batch,) = plan_batches([length], ladder(256)).batches
    assert batch.bucket == Bucket(1, next(size for size in (16, 32, 64, 128, 256) if size >= length))


@given(max_lengths)
def test_the_ladder_is_small_and_reaches_the_longest_sequence(max_length: int) -> None:
    buckets = ladder(max_length)
    assert len(buckets) <= 11
    assert max_length <= buckets[-1].length < max_length + 16
    assert all(bucket.tokens <= MAX_BATCH_TOKENS or bucket.rows == 1 for bucket in buckets)


@given(max_lengths, st.integers(1, 100))
def test_a_sequence_that_no_row_holds_is_refused(max_length: int, excess: int) -> None:
    buckets = ladder(max_length)
    with pytest.raises(ValueError, match="sequence 1 has"):
        plan_batches([1, buckets[-1].length + excess], buckets)
