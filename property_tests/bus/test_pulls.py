"""A puller's ledger under any order of events (§8.2): requested and buffered never exceed the capacity."""

from hypothesis import given
from hypothesis import strategies as st

from sie.bus.pulls import PullLedger

events = st.sampled_from(["ask", "arrive", "arrive", "take", "end", "expire", "reconnect"])


@given(st.integers(1, 9), st.lists(events, max_size=80))
def test_a_puller_never_holds_more_than_its_capacity(capacity: int, history: list[str]) -> None:
    ledger, session = PullLedger(capacity), 1
    for event in history:
        if event == "ask" and (batch := ledger.room()):
            ledger.next_number()
            ledger.open(batch, session=session, deadline=1.0)
        elif event == "arrive":
            ledger.arrive()
        elif event == "take" and ledger.buffered:
            ledger.take()
        elif event == "end":
            ledger.end(ledger.number)
        elif event == "expire":
            ledger.expire(now=2.0, session=session)
        elif event == "reconnect":
            session += 1
            ledger.expire(now=0.0, session=session)
        assert ledger.buffered >= 0
        assert ledger.asked >= 0
        assert ledger.buffered + ledger.asked <= capacity


@given(st.integers(1, 9), st.integers(0, 9))
def test_an_empty_puller_without_an_open_pull_always_asks(capacity: int, taken: int) -> None:
    ledger = PullLedger(capacity)
    for _ in range(min(taken, capacity)):
        ledger.arrive()
        ledger.take()
    assert ledger.room() == capacity
