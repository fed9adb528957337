"""The outbox under any order of events (§8): in order, and within its bound."""

from hypothesis import given
from hypothesis import strategies as st

from sie.bus.api import OutboxFull
from sie.bus.outbox import COMMAND_OVERHEAD_BYTES, Command, Outbox, Publish, Subscribe

sizes = st.integers(0, 500)


@given(st.integers(0, 3000), st.lists(st.one_of(sizes, st.just("take"), st.just("subscribe")), max_size=60))
def test_commands_leave_in_order_and_their_bytes_stay_within_the_bound(
    max_bytes: int, history: list[int | str]
) -> None:
    outbox, expected, changes = Outbox(max_bytes, lambda: changes.append(1)), list[Command](), list[int]()
    for number, event in enumerate(history):
        if event == "take":
            assert outbox.take() == (expected.pop(0) if expected else None)
        elif event == "subscribe":
            outbox.subscribe(number)
            expected.append(Subscribe(number))
        elif isinstance(event, int):
            command = Publish(f"s.{number}", b"", "", {}, event)
            held = [c.size_bytes + COMMAND_OVERHEAD_BYTES for c in expected if isinstance(c, Publish)]
            fits = not held or sum(held) + event + COMMAND_OVERHEAD_BYTES <= max_bytes
            try:
                outbox.publish(command)
            except OutboxFull:
                assert not fits
            else:
                assert fits
                expected.append(command)
    assert len(outbox) == len(expected)
