"""How many messages may a puller ask for now, and what does the end of a pull mean? (§8.2) Sans-IO.

At most one pull is open, so requested plus buffered never exceeds the capacity, and every message can be counted: the
broker delivers under the message's own subject, which does not tell one pull from another. `sie.bus.puller` acts on it.
"""

import attrs

CONSUMER_IS_GONE = (
    "Consumer Deleted",
    "Stream Deleted",
    "Consumer is push based",
    "Exceeded MaxRequest",
    "Bad Request",
)


@attrs.define
class PullLedger:
    """The open pull and the buffer of one puller. `asked` is what the open pull may still bring."""

    capacity: int
    buffered: int = attrs.field(default=0, init=False)
    asked: int = attrs.field(default=0, init=False)
    number: int = attrs.field(default=0, init=False)
    session: int = attrs.field(default=0, init=False)
    deadline: float = attrs.field(default=0.0, init=False)

    def room(self) -> int:
        """How many to ask for now: none until half the capacity is free, to have one request for many messages."""
        free = self.capacity - self.buffered
        return free if not self.asked and free >= (self.capacity + 1) // 2 else 0

    def open(self, batch: int, *, session: int, deadline: float) -> None:
        self.asked, self.session, self.deadline = batch, session, deadline

    def next_number(self) -> int:
        self.number += 1
        return self.number

    def arrive(self) -> bool:
        """Count a message in. False: it belongs to a pull given up earlier, and there is no room left for it."""
        self.asked = max(self.asked - 1, 0)
        if self.buffered >= self.capacity:
            return False
        self.buffered += 1
        return True

    def take(self) -> None:
        self.buffered -= 1

    def end(self, number: int) -> None:
        """The broker ended this pull; a late word on an earlier one changes nothing."""
        if number == self.number:
            self.asked = 0

    def expire(self, *, now: float, session: int) -> bool:
        """Give the open pull up if its connection is gone or the broker never ended it. True: given up."""
        if not self.asked or (session == self.session and now < self.deadline):
            return False
        self.asked = 0
        return True


@attrs.frozen
class PullEnded:
    """`at_once`: ask again now. Otherwise after a pause, or the same refusal would come back in a tight loop."""

    at_once: bool


@attrs.frozen
class PullLost:
    """The consumer or its stream is gone, and somebody has to make it again."""

    reason: str


def judge_pull_status(status: str, description: str) -> PullEnded | PullLost:
    """What the broker says when it ends a pull before its batch is full."""
    match status:
        case "503":
            return PullLost("no responders")
        case "409" | "400" if description.startswith(CONSUMER_IS_GONE):
            return PullLost(description)
        case "408":
            return PullEnded(at_once=True)
        case _:
            return PullEnded(at_once=False)
