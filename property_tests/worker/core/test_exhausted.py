"""Each item of a batch is settled or to be tried again, in its order, with what was said of it."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ErrorCode
from sie.wire.ipc import Finished, ItemOutcome
from sie.worker.core.exhausted import decide_exhausted, part_of, split_exhausted

outcomes = st.lists(
    st.sampled_from(
        (
            ItemOutcome(result_msgpack=b"x"),
            ItemOutcome(error_code=ErrorCode.RESOURCE_EXHAUSTED, error="no memory"),
            ItemOutcome(error_code=ErrorCode.INFERENCE_ERROR, error="no"),
        )
    ),
    max_size=8,
)


@given(outcomes)
def test_a_split_is_a_partition_by_what_ran_out_of_memory(told: list[ItemOutcome]) -> None:
    answer = Finished(id=1, outcomes=tuple(told), inference_ms=3.0)
    split = split_exhausted(answer)
    assert sorted((*split.settled, *split.exhausted)) == list(range(len(told)))
    assert {o.error_code for o in part_of(answer, split.exhausted).outcomes} <= {"RESOURCE_EXHAUSTED"}
    assert [o for o in told if o.error_code != "RESOURCE_EXHAUSTED"] == list(part_of(answer, split.settled).outcomes)
    assert part_of(answer, split.settled).inference_ms == answer.inference_ms


@given(st.integers(1, 20), st.booleans())
def test_work_comes_again_at_most_once_and_only_where_that_can_help(deliveries: int, has_company: bool) -> None:
    again = decide_exhausted(deliveries=deliveries, has_company=has_company) == "again"
    assert again == (has_company and deliveries == 1)
