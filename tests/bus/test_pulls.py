"""When a puller asks, and what the broker's word on a pull means (§8.2)."""

import pytest

from sie.bus.pulls import PullEnded, PullLedger, PullLost, judge_pull_status


def test_it_asks_for_all_the_room_once_half_the_capacity_is_free() -> None:
    ledger = PullLedger(4)
    assert ledger.room() == 4
    ledger.open(4, session=1, deadline=25)
    assert ledger.room() == 0
    assert all(ledger.arrive() for _ in range(4))
    ledger.take()
    assert ledger.room() == 0
    ledger.take()
    assert ledger.room() == 2


def test_a_pull_of_an_older_session_is_given_up() -> None:
    ledger = PullLedger(4)
    ledger.open(4, session=1, deadline=25)
    assert not ledger.expire(now=0, session=1)
    assert ledger.expire(now=0, session=2)
    assert ledger.room() == 4


def test_a_pull_that_the_broker_never_ended_is_given_up_at_its_deadline() -> None:
    ledger = PullLedger(4)
    ledger.open(4, session=1, deadline=25)
    assert not ledger.expire(now=24.9, session=1)
    assert ledger.expire(now=25, session=1)


def test_a_late_word_on_an_earlier_pull_changes_nothing() -> None:
    ledger = PullLedger(4)
    earlier = ledger.next_number()
    ledger.next_number()
    ledger.open(4, session=1, deadline=25)
    ledger.end(earlier)
    assert ledger.asked == 4


def test_what_arrives_beyond_the_capacity_is_not_kept() -> None:
    ledger = PullLedger(1)
    assert ledger.arrive()
    assert not ledger.arrive()
    assert ledger.buffered == 1


@pytest.mark.parametrize(
    ("status", "description", "verdict"),
    [
        ("408", "Request Timeout", PullEnded(at_once=True)),
        ("404", "No Messages", PullEnded(at_once=False)),
        ("409", "Leadership Change", PullEnded(at_once=False)),
        ("409", "Server Shutdown", PullEnded(at_once=False)),
        ("409", "Exceeded MaxWaiting", PullEnded(at_once=False)),
        ("409", "Consumer Deleted", PullLost("Consumer Deleted")),
        ("409", "Consumer is push based", PullLost("Consumer is push based")),
        ("409", "Exceeded MaxRequestBatch of 1", PullLost("Exceeded MaxRequestBatch of 1")),
        ("400", "Bad Request", PullLost("Bad Request")),
        ("503", "", PullLost("no responders")),
    ],
)
def test_the_broker_ends_a_pull_or_says_that_the_consumer_is_gone(
    status: str, description: str, verdict: PullEnded | PullLost
) -> None:
    assert judge_pull_status(status, description) == verdict
