"""Cancels are read as they were written, and nothing else is one (§8, decisions)."""

from hypothesis import given
from hypothesis import strategies as st

from sie.testing import strategies
from sie.wire.cancel import BatchCancel, WorkCancel, decode_cancel, encode_cancel
from tests.wire.refusals import problems_of

IDS = strategies.texts


@given(st.builds(WorkCancel, router_id=IDS, request_id=IDS, reason=IDS))
def test_a_work_cancel_is_read_as_it_was_written(cancel: WorkCancel) -> None:
    assert decode_cancel(encode_cancel(cancel), WorkCancel) == cancel


@given(
    st.builds(
        BatchCancel,
        router_id=IDS,
        request_id=IDS,
        worker_id=IDS,
        item_indexes=st.lists(st.integers(0, 5000)).map(tuple),
        reason=IDS,
    )
)
def test_a_batch_cancel_is_read_as_it_was_written(cancel: BatchCancel) -> None:
    assert decode_cancel(encode_cancel(cancel), BatchCancel) == cancel


@given(st.binary())
def test_anything_else_is_refused_and_not_more(data: bytes) -> None:
    assert problems_of(lambda value: decode_cancel(value, BatchCancel), data)
