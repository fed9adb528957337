"""What one life of a worker holds of the queue, as its words to the broker show, and what it owes the broker for it.

A delivery is told on once it is acknowledged, given back or discarded; whatever was answered must be acknowledged.
"""

from collections.abc import Iterator

import attrs
import trio

from sie.worker.consume.source import OWN_CAPACITY, PULL_CAPACITY
from sie.worker.core.held_work import FULL_ITEMS

MOST_LEASES = FULL_ITEMS + 2 * (PULL_CAPACITY + OWN_CAPACITY)
"""Pulling stops at FULL_ITEMS; what has come by then is kept, and what the open pulls still bring is given back."""
ACK_GRACE_S = 2.0
"""A lease that comes again while its puller is being closed is given back at the end of that."""
SETTLING = frozenset({b"+ACK", b"+TERM"})


@attrs.define(eq=False)
class Leases:
    """`open` is by item: a redelivery takes the place of the lease before it."""

    given: dict[str, str] = attrs.field(factory=dict)
    """Every delivery: ack subject to item id."""
    open: dict[str, str] = attrs.field(factory=dict)
    unacked: dict[str, float] = attrs.field(factory=dict)
    """Answered items that wait for their ack, since when."""

    def lend(self, ack_subject: str, item_id: str) -> None:
        self.given[ack_subject] = item_id
        self.open[item_id] = ack_subject

    def answer(self, item_id: str) -> None:
        if item_id in self.open:
            self.unacked.setdefault(item_id, trio.current_time())

    def tell(self, ack_subject: str, word: bytes) -> None:
        """A word is the worker's own, whether or not it reached the broker."""
        item_id = self.given.get(ack_subject, "")
        if word in SETTLING or word.startswith(b"-NAK"):
            self.unacked.pop(item_id, None)
            if self.open.get(item_id) == ack_subject:
                del self.open[item_id]

    def forfeit(self, stream: str) -> None:
        """Its consumer is gone, and its leases with it: no word on them is owed."""
        for item_id, ack_subject in tuple(self.open.items()):
            if ack_subject.startswith(f"$JS.ACK.{stream}."):
                del self.open[item_id]
                self.unacked.pop(item_id, None)

    def overdue(self) -> Iterator[str]:
        """Items that were answered a while ago and are still not acknowledged."""
        before_s = trio.current_time() - ACK_GRACE_S
        return (item_id for item_id, since_s in self.unacked.items() if since_s < before_s)
