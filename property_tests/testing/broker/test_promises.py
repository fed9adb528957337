"""Whatever a client does and however long it waits, the broker model keeps what JetStream promises of a work queue."""

from hypothesis import given
from hypothesis import strategies as st

from property_tests.testing.broker.work import Answer, Pass, Put, Step, Work, scripts

works = st.builds(Work, st.sampled_from((-1, 1, 2, 3)), st.sampled_from((1, 2, 10)))


@given(works, scripts)
def test_first_deliveries_come_in_the_order_of_the_stream(work: Work, script: list[Step]) -> None:
    first = [each.stream_seq for step in script for each in work.take(step) if each.deliveries == 1]
    assert first == sorted(set(first))


@given(works, scripts)
def test_what_was_acked_or_termed_never_comes_again(work: Work, script: list[Step]) -> None:
    for step in script:
        before = set(work.ended)
        assert before.isdisjoint(delivery.stream_seq for delivery in work.take(step))


@given(works, scripts)
def test_a_work_queue_keeps_a_message_until_it_is_acked_or_termed_even_one_given_up(
    work: Work, script: list[Step]
) -> None:
    for step in script:
        work.take(step)
        assert work.kept == [seq for seq in work.stored if seq not in work.ended]


@given(works, scripts)
def test_every_message_comes_until_it_is_acked_termed_or_given_up(work: Work, script: list[Step]) -> None:
    for step in script:
        work.take(step)
    work.drain()
    assert set(work.stored) == set(work.tries)
    assert set(work.kept) == work.given_up - work.ended


@given(works, scripts)
def test_a_message_is_tried_as_often_as_it_may_be_and_given_up_once_it_was(work: Work, script: list[Step]) -> None:
    for step in script:
        for delivery in work.take(step):
            assert delivery.deliveries == work.tries[delivery.stream_seq]
            assert delivery.stream_seq not in work.given_up
    if work.max_deliver > 0:
        assert max(work.tries.values(), default=0) <= work.max_deliver
        assert all(work.tries[seq] == work.max_deliver for seq in work.given_up)
    else:
        assert not work.given_up


@given(works, scripts)
def test_no_more_is_lent_than_may_wait_for_an_ack(work: Work, script: list[Step]) -> None:
    for step in script:
        work.take(step)
        assert len(work.consumer.books.lent) <= work.max_ack_pending


@given(works, scripts)
def test_no_pull_is_answered_with_more_than_it_asked_for(work: Work, script: list[Step]) -> None:
    for step in script:
        work.take(step)
    assert all(work.got[pull] <= batch for pull, batch in enumerate(work.asked))


@given(works, scripts)
def test_the_floor_lies_below_all_that_is_lent_and_never_falls(work: Work, script: list[Step]) -> None:
    floor = 0
    for step in script:
        work.take(step)
        books = work.consumer.books
        assert floor <= books.floor_seq < min(books.lent, default=books.next_seq)
        floor = books.floor_seq


def test_the_books_themselves_can_fail() -> None:
    work = Work(2, 10)
    work.take(Put("i"))
    work.take(Put("i"))
    assert work.stored == [1]
    work.take(Answer("+ACK", 0))
    work.take(Pass(1.0))
    assert work.kept == [1]
