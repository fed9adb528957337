"""Held work loses nothing and holds nothing twice, whatever comes, goes and comes again, in whatever order."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.bus.jetstream_api import Delivery
from sie.testing import message_strategies as messages
from sie.wire.work import WorkItem
from sie.worker.core.batching import Candidate
from sie.worker.core.held_work import FULL_ITEMS, RENEW_AFTER_S, Held, HeldWork

STEPS = ("add", "take", "release", "owe", "take_owed", "orphan", "renew")
seqs = st.integers(1, 5)
histories = st.lists(st.tuples(st.sampled_from(STEPS), seqs), min_size=20, max_size=60)


def held(held_work: HeldWork, item: WorkItem, seq: int, deliveries: int = 1, now_s: float = 0.0) -> Held:
    ack = f"$JS.ACK.s.c.{deliveries}.{seq}.1.0.0"
    named = attrs.evolve(item, work_item_id=f"r.{seq}")
    delivery = Delivery("s", b"x" * seq, {}, ack, seq, deliveries, 0)
    return Held(named, Candidate(held_work.next_order(), "m", "encode", seq, ("g", "r")), delivery, now_s, 0.0)


def _waiting(held_work: HeldWork) -> dict[int, Held]:
    return {one.delivery.stream_seq: one for one in held_work.waiting()}


@given(messages.work_items, histories)
def test_exactly_what_came_and_has_not_gone_is_held(item: WorkItem, history: list[tuple[str, int]]) -> None:
    held_work, expected, running = HeldWork(), set[int](), dict[int, Held]()
    for now_s, (step, seq) in enumerate(history):
        if step == "add":
            assert held_work.add(held(held_work, item, seq, now_s + 1)) is None
            expected.add(seq)
        elif step == "take":
            running |= {one.delivery.stream_seq: one for one in held_work.take_batch({"m"}, {"m": seq})}
        elif step in ("release", "owe") and seq in (known := running | _waiting(held_work)):
            (held_work.release if step == "release" else held_work.owe)(known[seq])
            running.pop(seq, None)
            expected -= {seq} if step == "release" else set()
        elif step == "take_owed":
            expected -= {one.delivery.stream_seq for one in held_work.take_owed()}
        elif step == "orphan":
            held_work.orphan(is_direct=False)
            assert held_work.renew(now_s=1e9) == ()
        elif step == "renew":
            held_work.renew(now_s=now_s)
        seen = [one.delivery.stream_seq for one in held_work.held()]
        assert sorted(seen) == sorted(expected)
        assert len(held_work) == len(expected)
    for one in held_work.held():
        held_work.release(one)
    assert held_work.has_room
    assert not held_work.is_full


@given(messages.work_items, st.lists(seqs, unique=True, max_size=8), st.floats(0, 60))
def test_a_lease_is_renewed_once_when_it_is_due_and_not_before(
    item: WorkItem, numbers: list[int], now_s: float
) -> None:
    held_work = HeldWork()
    for seq in numbers:
        held_work.add(held(held_work, item, seq))
    due = held_work.renew(now_s=now_s)
    assert [d.stream_seq for d in due] == (numbers if now_s >= RENEW_AFTER_S else [])
    assert not due or held_work.renew(now_s=now_s) == ()


@given(messages.work_items, st.integers(0, 300))
def test_the_desk_is_full_at_its_bound_and_has_no_room_then(item: WorkItem, count: int) -> None:
    held_work = HeldWork()
    for seq in range(1, count + 1):
        held_work.add(held(held_work, item, seq))
    assert held_work.is_full == (count >= FULL_ITEMS)
    assert not (held_work.is_full and held_work.has_room)


@given(messages.work_items, seqs)
def test_a_redelivery_is_held_once_under_its_newest_lease(item: WorkItem, seq: int) -> None:
    held_work = HeldWork()
    assert held_work.add(held(held_work, item, seq)) is None
    held_work.orphan(is_direct=False)
    assert held_work.add(held(held_work, item, seq, deliveries=2, now_s=5)) is None
    (one,) = held_work.held()
    assert (one.delivery.deliveries, one.renewed_s, one.is_lent) == (2, 5, True)


messages_of_one_work = st.lists(st.tuples(st.booleans(), st.integers(1, 3)), min_size=1, max_size=6)
"""By name or not, and the place in its stream."""


@given(messages.work_items, messages_of_one_work, st.booleans())
def test_work_that_comes_in_several_messages_is_held_once_and_all_but_one_of_them_are_acked(
    item: WorkItem, arrivals: list[tuple[bool, int]], runs: bool
) -> None:
    held_work, spare = HeldWork(), list[Delivery]()
    for number, (by_name, seq) in enumerate(arrivals):
        found = held_work.add(_copy(held_work, item, seq, number + 1, by_name=by_name))
        spare += [found] if found is not None else []
        if runs:
            held_work.take_batch({"m"}, {})
    (one,) = held_work.held()
    came = {(subject_of(by_name), seq) for by_name, seq in arrivals}
    kept = (one.delivery.subject, one.delivery.stream_seq)
    assert came - {(delivery.subject, delivery.stream_seq) for delivery in spare} <= {kept}
    assert one.is_direct == all(by_name for by_name, _ in arrivals)
    newest = max(n for n, (by_name, seq) in enumerate(arrivals, 1) if (subject_of(by_name), seq) == kept)
    assert one.delivery.deliveries == newest
    assert one.delivery not in spare


@given(messages.work_items, st.booleans(), st.booleans())
def test_a_lost_consumer_takes_the_leases_of_its_own_queue_alone(item: WorkItem, by_name: bool, lost: bool) -> None:
    held_work = HeldWork()
    held_work.add(_copy(held_work, item, 1, 1, by_name=by_name))
    held_work.orphan(is_direct=lost)
    (one,) = held_work.held()
    assert one.is_lent == (by_name != lost)


@given(messages.work_items, st.booleans())
def test_a_message_takes_the_place_of_a_lease_that_is_gone_and_nothing_is_to_be_acked(
    item: WorkItem, by_name: bool
) -> None:
    held_work = HeldWork()
    held_work.add(_copy(held_work, item, 1, 1, by_name=by_name))
    held_work.orphan(is_direct=by_name)
    assert held_work.add(_copy(held_work, item, 1, 1, by_name=not by_name)) is None
    (one,) = held_work.held()
    assert (one.is_lent, one.is_direct) == (True, not by_name)


def subject_of(by_name: bool) -> str:
    return "sie.work.p.m.b.model" + (".w" if by_name else "")


def _copy(held_work: HeldWork, item: WorkItem, seq: int, deliveries: int, *, by_name: bool) -> Held:
    made = held(held_work, item, seq, deliveries)
    delivery = attrs.evolve(made.delivery, subject=subject_of(by_name))
    return Held(attrs.evolve(item, work_item_id="r.0"), made.candidate, delivery, 0.0, 0.0)
