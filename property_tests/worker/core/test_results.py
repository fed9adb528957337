"""Whatever the backend answers, each item gets one result that names it, a success or a code of ours."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ErrorCode
from sie.domain.ids import WorkerId
from sie.testing import message_strategies as messages
from sie.testing import strategies as sie_st
from sie.wire.ipc import Failed, Finished, ItemOutcome
from sie.wire.result import WorkResult, decode_result, encode_result
from sie.wire.work import WorkItem
from sie.worker.core.accept import caller
from sie.worker.core.results import (
    MAX_MESSAGE_CHARS,
    Course,
    encode_item,
    error_of,
    outcomes_of,
    result_of,
    too_large,
)

outcomes = st.builds(
    ItemOutcome,
    result_msgpack=st.none() | st.binary(max_size=8),
    input_tokens=st.integers(0, 512),
    error_code=st.none() | st.sampled_from(list(ErrorCode)) | sie_st.texts,
    error=st.none() | sie_st.texts,
)
answers = st.builds(Finished, id=st.just(1), outcomes=st.lists(outcomes, max_size=4).map(tuple)) | st.builds(
    Failed, id=st.just(1), error_code=sie_st.texts, error=sie_st.texts
)
courses = st.builds(
    Course,
    st.just(WorkerId("w")),
    st.just("") | sie_st.bundle_hashes,
    st.floats(0, 9),
    st.floats(0, 9),
    is_direct=st.booleans(),
)


@given(messages.work_items, answers, st.integers(1, 4), courses)
def test_each_item_of_a_batch_gets_a_result_that_is_a_success_or_has_a_code(
    item: WorkItem, answer: Finished | Failed, count: int, course: Course
) -> None:
    results = [result_of(caller(item), outcome, answer, course) for outcome in outcomes_of(answer, count)]
    assert len(results) == count
    for result in results:
        assert (result.work_item_id, result.request_id) == (item.work_item_id, item.request_id)
        assert result.item_index == item.item_index
        assert result.success == (result.result_msgpack is not None)
        assert result.success == (result.error_code is None)
        assert result.success or result.error_code in list(ErrorCode)
        assert result.origin == ("direct" if course.is_direct else None)
        assert decode_result(encode_result(result)) == result


@given(answers, st.integers(1, 5))
def test_a_count_of_outcomes_that_is_not_the_count_of_items_is_no_answer(answer: Finished | Failed, count: int) -> None:
    rows = outcomes_of(answer, count)
    if isinstance(answer, Finished) and len(answer.outcomes) == count:
        assert rows == answer.outcomes
    else:
        assert [row.result_msgpack for row in rows] == [None] * count


@given(messages.work_items, st.sampled_from(list(ErrorCode)), st.text(st.characters(codec="utf-8")), courses)
def test_an_error_is_short_enough_for_any_broker(item: WorkItem, code: ErrorCode, words: str, course: Course) -> None:
    result = error_of(caller(item), code, words * 1000, course)
    assert result.error is not None
    assert len(result.error) <= MAX_MESSAGE_CHARS
    assert not result.success


@given(messages.work_results, st.integers(2, 10**9))
def test_what_stands_for_a_result_that_is_too_large_is_small_and_names_both_sizes(
    result: WorkResult, size_bytes: int
) -> None:
    small = too_large(result, size_bytes=size_bytes, max_bytes=size_bytes - 1)
    assert (small.success, small.result_msgpack) == (False, None)
    assert str(size_bytes) in (small.error or "")
    assert str(size_bytes - 1) in (small.error or "")
    assert small.work_item_id == result.work_item_id


@given(messages.work_items)
def test_the_backend_is_given_what_the_client_asked_for(item: WorkItem) -> None:
    asked = encode_item(item)
    given_item = (item.query_item if item.operation == "score" else item.item) or {}
    default = {"id": f"item-{item.item_index}"} if item.operation == "extract" else {}
    has_id = isinstance(given_item.get("id"), str)
    assert asked.item == (given_item if has_id else {**given_item, **default})
    assert asked.candidates == item.score_items
    shared = ("operation", "output_types", "instruction", "is_query", "options", "labels", "output_schema")
    assert [getattr(asked, name) for name in shared] == [attrs.asdict(item, recurse=False)[name] for name in shared]
