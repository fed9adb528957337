"""Tombstones cover what was cancelled and nothing else, and are never more than their bound."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import RequestId, RouterId, WorkerId
from sie.domain.subjects import batch_cancel_subject, work_cancel_subject
from sie.testing import message_strategies as messages
from sie.testing import strategies as sie_st
from sie.wire.cancel import BatchCancel, WorkCancel
from sie.wire.work import WorkItem
from sie.worker.core.cancels import MAX_AGE_S, MAX_TOMBSTONES, Tombstones, is_of

_few = st.sampled_from(("a", "b"))
abandons = st.builds(WorkCancel, router_id=_few, request_id=_few)
withdrawals = st.builds(
    BatchCancel, router_id=_few, request_id=_few, worker_id=_few, item_indexes=st.lists(st.integers(0, 3)).map(tuple)
)
works = st.builds(attrs.evolve, messages.work_items, router_id=_few, request_id=_few, item_index=st.integers(0, 3))
moments = st.floats(0, 2 * MAX_AGE_S)
cancels = st.lists(st.tuples(moments, abandons | withdrawals), max_size=12)


def _of(work: WorkItem, cancel: WorkCancel | BatchCancel, *, is_direct: bool) -> bool:
    if (cancel.router_id, cancel.request_id) != (work.router_id, work.request_id):
        return False
    return isinstance(cancel, WorkCancel) or (is_direct and work.item_index in cancel.item_indexes)


def _tell(tombstones: Tombstones, cancel: WorkCancel | BatchCancel, now_s: float) -> None:
    if isinstance(cancel, WorkCancel):
        tombstones.abandon(cancel, now_s=now_s)
    else:
        tombstones.withdraw(cancel, now_s=now_s)


@given(cancels, works, st.booleans(), moments)
def test_work_is_covered_exactly_while_a_cancel_of_it_is_young(
    told: list[tuple[float, WorkCancel | BatchCancel]], work: WorkItem, is_direct: bool, later_s: float
) -> None:
    tombstones, expected = Tombstones(), False
    ordered = sorted(told, key=lambda pair: pair[0])
    now_s = (ordered[-1][0] if ordered else 0.0) + later_s
    for at_s, cancel in ordered:
        _tell(tombstones, cancel, at_s)
        expected = expected or (now_s - at_s < MAX_AGE_S and _of(work, cancel, is_direct=is_direct))
    assert tombstones.covers(work, is_direct=is_direct, now_s=now_s) == expected


@given(st.integers(0, 50), works)
def test_of_too_many_the_oldest_are_forgotten_first(more: int, work: WorkItem) -> None:
    tombstones = Tombstones()
    first = WorkCancel(router_id=work.router_id, request_id=work.request_id)
    tombstones.abandon(first, now_s=0)
    indexes = tuple(range(MAX_TOMBSTONES - 1 + more))
    tombstones.withdraw(BatchCancel(router_id="z", request_id="z", worker_id="w", item_indexes=indexes), now_s=1)
    assert len(tombstones) == MAX_TOMBSTONES
    assert tombstones.covers(work, is_direct=False, now_s=2) == (more == 0)
    tombstones.abandon(first, now_s=2)
    assert tombstones.covers(work, is_direct=False, now_s=2)
    assert len(tombstones) == MAX_TOMBSTONES


@given(cancels)
def test_nothing_is_kept_for_ever(told: list[tuple[float, WorkCancel | BatchCancel]]) -> None:
    tombstones = Tombstones()
    for _, cancel in told:
        _tell(tombstones, cancel, 0.0)
    _tell(tombstones, WorkCancel(router_id="z", request_id="z"), MAX_AGE_S)
    assert len(tombstones) == 1


@given(sie_st.router_ids, sie_st.request_ids, sie_st.worker_ids)
def test_a_cancel_counts_on_its_own_subject_alone(router: RouterId, request: RequestId, worker: WorkerId) -> None:
    abandoned = WorkCancel(router_id=router, request_id=request)
    withdrawn = BatchCancel(router_id=router, request_id=request, worker_id=worker, item_indexes=(0,))
    assert is_of(work_cancel_subject(router, request), abandoned)
    assert not is_of(work_cancel_subject(router, request), attrs.evolve(abandoned, request_id="not-that-one"))
    subject = batch_cancel_subject(router, worker, request)
    assert is_of(subject, withdrawn)
    assert not is_of(subject, attrs.evolve(withdrawn, router_id="not-that-one"))
    assert not is_of(subject, attrs.evolve(withdrawn, request_id="not-that-one"))
    assert not is_of(subject, attrs.evolve(withdrawn, worker_id="not-that-one"))
