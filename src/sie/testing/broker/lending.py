"""What has a consumer lent, how often, and what of it is to come again? One consumer's books. Sans-IO.

`sie.testing.broker.consumers` decides by them; here they are only kept right when a message is acked, lost or given up.
"""

from collections.abc import Sequence
from math import inf

import attrs


@attrs.define
class Lent:
    """`consumer_seq` is that of the first delivery; the ack_wait runs from `since_s`."""

    consumer_seq: int
    since_s: float


@attrs.define(eq=False)
class Lending:
    """`tries` counts redeliveries, as long as the message is not acked and in the stream.

    All up to `floor_seq` of the stream, which is delivery `floor_consumer_seq`, needs no ack any more. What was
    delivered lies below `next_seq` of the stream and `consumer_seq` of the consumer. `written_seq` is where the server
    goes on after a restart: what it passed over since then, as another's, it looks at once more.
    """

    next_seq: int
    floor_seq: int
    written_seq: int = attrs.field(init=False)
    consumer_seq: int = attrs.field(default=1, init=False)
    floor_consumer_seq: int = attrs.field(default=0, init=False)
    lent: dict[int, Lent] = attrs.field(factory=dict, init=False)
    tries: dict[int, int] = attrs.field(factory=dict, init=False)
    again: dict[int, None] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.write()

    def write(self) -> None:
        self.written_seq = self.next_seq - 1

    def lend(self, seq: int, now_s: float) -> int:
        """The number of this delivery."""
        self.written_seq = max(self.written_seq, seq)
        if (lent := self.lent.get(seq)) is None:
            self.lent[seq] = Lent(self.consumer_seq, now_s)
        else:
            lent.since_s = now_s
        self.consumer_seq += 1
        return self.consumer_seq - 1

    def is_open(self, seq: int, consumer_seq: int) -> bool:
        """Whether that delivery can still be answered with a NAK."""
        return seq in self.lent and self.floor_consumer_seq < consumer_seq < self.consumer_seq

    def over(self, ack_wait_s: float, now_s: float) -> list[int]:
        """What was lent for its ack_wait and is not to come again already, in the order of the stream."""
        ended = (seq for seq, lent in self.lent.items() if lent.since_s + ack_wait_s <= now_s)
        return sorted(seq for seq in ended if seq not in self.again)

    def next_over_s(self, ack_wait_s: float, now_s: float) -> float:
        ends = (lent.since_s + ack_wait_s for lent in self.lent.values())
        return min((end_s for end_s in ends if end_s > now_s), default=inf)

    def come_again(self, seqs: Sequence[int], now_s: float) -> None:
        """The first counts as lent anew now, the others as long after it as before."""
        if seqs:
            later_s = now_s - self.lent[seqs[0]].since_s
            for seq in seqs:
                self.lent[seq].since_s += later_s
                self.again[seq] = None

    def is_wanted(self, seq: int) -> bool:
        return seq >= self.next_seq or seq in self.lent or seq in self.tries

    def below(self, first_seq: int) -> list[int]:
        """What is lent and has left the stream long ago."""
        return [seq for seq in self.lent if seq < first_seq]

    def take_again(self) -> int | None:
        seq = next(iter(self.again), None)
        if seq is not None:
            del self.again[seq]
        return seq

    def give_back(self, seq: int) -> None:
        """It was about to be delivered again, and was not."""
        self.uncount_try(seq)
        self.again.setdefault(seq)

    def count_try(self, seq: int) -> int:
        """How many deliveries the next one makes."""
        tried = self.tries[seq] = self.tries.get(seq, 0) + 1
        return tried + 1

    def uncount_try(self, seq: int) -> None:
        self.tries[seq] -= 1
        if not self.tries[seq]:
            del self.tries[seq]

    def forget(self, seq: int) -> None:
        self._stop(seq)
        self.tries.pop(seq, None)
        self.again.pop(seq, None)

    def give_up(self, seq: int) -> None:
        """It stays in the stream, and counts as redelivered until it leaves."""
        self._stop(seq)
        self.tries.setdefault(seq, 1)

    def forget_all(self, next_seq: int) -> None:
        self.lent.clear()
        self.tries.clear()
        self.again.clear()
        self.next_seq = max(self.next_seq, next_seq)
        self.write()
        self.floor_consumer_seq, self.floor_seq = self.consumer_seq - 1, self.next_seq - 1

    def _stop(self, seq: int) -> None:
        lent = self.lent.pop(seq, None)
        if lent is None:
            return
        if not self.lent:
            self.floor_consumer_seq, self.floor_seq = self.consumer_seq - 1, self.next_seq - 1
        elif lent.consumer_seq == self.floor_consumer_seq + 1:
            above = next(above for above in range(seq + 1, self.next_seq) if above in self.lent)
            self.floor_consumer_seq, self.floor_seq = self.lent[above].consumer_seq - 1, above - 1
