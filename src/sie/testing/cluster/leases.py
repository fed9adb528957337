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
OWN_STREAM = "WORK_WORKER_"
OWN = "*"
"""What is added to an item that was lent from the worker's own queue."""
SETTLING = frozenset({b"+ACK", b"+TERM"})


@attrs.define(eq=False)
class Leases:
    """`open` is by item and kind of queue: a redelivery takes the place of the lease before it from the same."""

    given: dict[str, str] = attrs.field(factory=dict)
    """Every delivery: ack subject to item id."""
    from_pool: set[str] = attrs.field(factory=set)
    """Items that were ever lent from a pool's queue."""
    open: dict[str, str] = attrs.field(factory=dict)
    unacked: dict[str, float] = attrs.field(factory=dict)
    """Answered items that wait for their ack, since when."""

    def lend(self, ack_subject: str, item_id: str) -> None:
        self.given[ack_subject] = item_id
        self.open[_key(ack_subject, item_id)] = ack_subject
        if not is_own(ack_subject):
            self.from_pool.add(item_id)

    def had_from_pool(self, item_id: str) -> bool:
        return item_id in self.from_pool

    def answer(self, item_id: str) -> None:
        for key in (item_id, item_id + OWN):
            if key in self.open:
                self.unacked.setdefault(key, trio.current_time())

    def holds(self, item_id: str) -> bool:
        return item_id in self.open or item_id + OWN in self.open

    def tell(self, ack_subject: str, word: bytes) -> None:
        """A word is the worker's own, whether or not it reached the broker."""
        key = _key(ack_subject, self.given.get(ack_subject, ""))
        if word in SETTLING or word.startswith(b"-NAK"):
            self.unacked.pop(key, None)
            if self.open.get(key) == ack_subject:
                del self.open[key]

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


def is_own(ack_subject: str) -> bool:
    """Is the lease one of the worker's own queue?"""
    return ack_subject.startswith(f"$JS.ACK.{OWN_STREAM}")


def _key(ack_subject: str, item_id: str) -> str:
    return item_id + OWN if is_own(ack_subject) else item_id
