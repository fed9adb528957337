"""Which message does a durable pull consumer lend next, to whom, and until when? Sans-IO, after nats-server's consumer.

Redeliveries come before new messages; what was lent comes back by NAK, by ack_wait or by a restart, and stays in the
stream when it was tried `max_deliver` times.
"""

from typing import Literal, Protocol

import attrs

from sie.bus.api import Message
from sie.testing.broker.agenda import Agenda, Timer
from sie.testing.broker.configs import ConsumerConfig
from sie.testing.broker.pulls import Pull, PullRequest, WaitingPulls, status
from sie.testing.broker.streams import Stored, Stream
from sie.testing.broker.subjects import matches
from sie.testing.broker.times import since_epoch_ns

RECOVERY_CHECK_S = 1.0  # the server looks at what was lent 0.5 to 1.5 s after it started, sooner with a short ack_wait


class Outlet(Protocol):
    """What a consumer needs of its broker. `send` goes to whoever listens to `to`, under the message's own subject."""

    def has_interest(self, subject: str) -> bool: ...

    def send(self, to: str, message: Message) -> None: ...

    def advise_max_deliveries(self, stream: str, consumer: str, seq: int, deliveries: int) -> None: ...


@attrs.define
class Lent:
    """`consumer_seq` is that of the first delivery; the ack_wait runs from `since_s`."""

    consumer_seq: int
    since_s: float


@attrs.frozen
class Due:
    stored: Stored
    deliveries: int


Nothing = Literal["exhausted", "stalled"]


@attrs.define(eq=False)
class Consumer:
    """`next_seq` is the stream sequence to look at next, `consumer_seq` the number of the next delivery."""

    config: ConsumerConfig
    stream: Stream
    outlet: Outlet
    agenda: Agenda
    created_s: float
    next_seq: int = attrs.field(init=False)
    consumer_seq: int = attrs.field(default=1, init=False)
    ack_floor: tuple[int, int] = attrs.field(init=False)
    unseen: int = attrs.field(init=False)
    lent: dict[int, Lent] = attrs.field(factory=dict, init=False)
    tries: dict[int, int] = attrs.field(factory=dict, init=False)
    waiting: WaitingPulls = attrs.field(init=False)
    _again: dict[int, None] = attrs.field(factory=dict, init=False)
    _matched: dict[str, bool] = attrs.field(factory=dict, init=False)
    _ack_timer: Timer = attrs.field(init=False)
    _pull_timer: Timer = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.next_seq = max(self.stream.first_seq, 1)
        self.ack_floor = (0, self.next_seq - 1)
        self.unseen = self._count_unseen()
        self.waiting = WaitingPulls(self.outlet.has_interest, lambda last: self.outlet.send(last.subject, last))
        self._ack_timer, self._pull_timer = Timer(self._check_lent), Timer(self.serve)

    def reconfigure(self, config: ConsumerConfig) -> None:
        self.config = config
        self._matched.clear()
        self.unseen = self._count_unseen()
        self._arm_ack_timer()
        self.serve()

    def pull(self, request: PullRequest | None, reply: str) -> None:
        if request is None:
            self.outlet.send(reply, status(reply, "400", "Bad Request - unexpected end of JSON input"))
            return
        if request.no_wait and (refusal := self._refuse_to_wait(request)) is not None:
            self.outlet.send(reply, status(reply, *refusal))
            return
        until_s = None if request.expires_s is None else self.agenda.now_s + request.expires_s
        self.waiting.end_overdue(self.agenda.now_s, exhausted=False)
        if self.waiting.add(Pull(reply, request.batch, until_s, request.no_wait)):
            self.serve()
        else:
            self.outlet.send(reply, status(reply, "409", "Exceeded MaxWaiting"))

    def serve(self) -> None:
        """Deliver until the pulls or the messages run out, then end the pulls that are over."""
        nothing: Nothing = "exhausted"
        while len(self.waiting):
            due = self._take_due()
            if not isinstance(due, Due):
                nothing = due
                break
            if (pull := self.waiting.take(self.agenda.now_s)) is None:
                self._put_back(due)
                break
            self._deliver(pull, due)
        self.waiting.end_overdue(self.agenda.now_s, exhausted=nothing == "exhausted")
        self._arm_pull_timer()

    def on_stored(self, stored: Stored) -> None:
        if self._is_mine(stored):
            self.unseen += 1
            self.serve()

    def on_removed(self, stored: Stored) -> None:
        """However it left the stream, it need not be acked any more."""
        if stored.seq >= self.next_seq and self._is_mine(stored):
            self.unseen -= 1
        if stored.seq in self.lent:
            self._forget(stored.seq)

    def ack(self, seq: int) -> bool:
        """Also ends a message that was given up. False: that was never delivered."""
        if seq >= self.next_seq:
            return False
        self._forget(seq)
        if self.stream.config.is_work_queue:
            self.stream.remove(seq)
        return True

    def nak(self, seq: int, consumer_seq: int, delay_s: float) -> None:
        lent = self.lent.get(seq)
        if lent is None or not self.ack_floor[0] < consumer_seq < self.consumer_seq:
            return
        if delay_s > 0:
            self._again.pop(seq, None)
            lent.since_s = self.agenda.now_s - self.config.ack_wait_s + delay_s
            self._arm_ack_timer()
            return
        self._again.setdefault(seq)
        self.serve()

    def progress(self, seq: int) -> None:
        if (lent := self.lent.get(seq)) is not None:
            lent.since_s = self.agenda.now_s

    def recover(self) -> None:
        """After a restart nobody waits, and what was to come again at once comes when its ack_wait ends."""
        self.waiting.clear()
        self._again.clear()
        self.agenda.cancel(self._ack_timer)
        if self.lent:
            self.agenda.arm(self._ack_timer, self.agenda.now_s + min(self.config.ack_wait_s, RECOVERY_CHECK_S))

    def close(self) -> None:
        self.waiting.end_all("409", "Consumer Deleted")
        self.agenda.cancel(self._ack_timer)
        self.agenda.cancel(self._pull_timer)

    def _refuse_to_wait(self, request: PullRequest) -> tuple[str, str] | None:
        ready = self.unseen + len(self._again)
        if not ready:
            return ("404", "No Messages") if request.expires_s is None else None
        self.waiting.end_overdue(self.agenda.now_s, exhausted=False)
        return ("408", "Requests Pending") if ready < self.waiting.wanted() else None

    def _take_due(self) -> Due | Nothing:
        while self._again:
            seq = next(iter(self._again))
            del self._again[seq]
            if (due := self._try_again(seq)) is not None:
                return due
        if 0 < self.config.max_ack_pending <= len(self.lent):
            return "stalled"
        while self.next_seq <= self.stream.last_seq:
            stored = self.stream.get(self.next_seq)
            self.next_seq += 1
            if stored is not None and self._is_mine(stored):
                self.unseen -= 1
                return Due(stored, 1)
        return "exhausted"

    def _try_again(self, seq: int) -> Due | None:
        deliveries = self._count_try(seq)
        if 0 < self.config.max_deliver < deliveries:
            if deliveries == self.config.max_deliver + 1:
                self._advise(seq, deliveries - 1)
            self.lent.pop(seq, None)
            return None
        stored = self.stream.get(seq)
        if stored is None:
            self._uncount_try(seq)
            return None
        return Due(stored, deliveries)

    def _put_back(self, due: Due) -> None:
        if due.deliveries == 1:
            self.next_seq = due.stored.seq
            self.unseen += 1
        else:
            self._uncount_try(due.stored.seq)
            self._again.setdefault(due.stored.seq)

    def _deliver(self, pull: Pull, due: Due) -> None:
        stored = due.stored
        stamp = since_epoch_ns(stored.stored_s)
        place = f"{self.stream.config.name}.{self.config.name}.{due.deliveries}.{stored.seq}.{self.consumer_seq}"
        lent = self.lent.setdefault(stored.seq, Lent(self.consumer_seq, 0.0))
        lent.since_s = self.agenda.now_s
        self.consumer_seq += 1
        self.agenda.arm(self._ack_timer, lent.since_s + self.config.ack_wait_s)
        ack_subject = f"$JS.ACK.{place}.{stamp}.{self.unseen}"
        self.outlet.send(pull.reply, Message(stored.subject, stored.data, ack_subject, stored.headers))

    def _forget(self, seq: int) -> None:
        stalled = 0 < self.config.max_ack_pending <= len(self.lent)
        lent = self.lent.pop(seq, None)
        self._raise_floor(seq, 0 if lent is None else lent.consumer_seq)
        self.tries.pop(seq, None)
        self._again.pop(seq, None)
        if stalled:
            self.serve()

    def _raise_floor(self, seq: int, consumer_seq: int) -> None:
        if not self.lent:
            self.ack_floor = (self.consumer_seq - 1, self.next_seq - 1)
        elif consumer_seq == self.ack_floor[0] + 1:
            self.ack_floor = (consumer_seq, seq)
            above = min((other for other in self.lent if other > seq), default=None)
            if above is not None:
                self.ack_floor = (self.lent[above].consumer_seq - 1, above - 1)

    def _check_lent(self) -> None:
        """The ack_wait of some message ended, or would have. Only now are counts of what is over forgotten."""
        for seq in [seq for seq in self.tries if seq < self.stream.first_seq or seq <= self.ack_floor[1]]:
            del self.tries[seq]
        over = sorted(seq for seq, lent in self.lent.items() if self._is_over(lent) and seq not in self._again)
        for seq in over:
            if self._give_up(seq):
                continue
            self.lent[seq].since_s = self.agenda.now_s
            self._again[seq] = None
        self._arm_ack_timer()
        if over:
            self.serve()

    def _give_up(self, seq: int) -> bool:
        """Whether it was tried often enough; told once."""
        tried = self.tries.get(seq, 0) + 1
        if not 0 < self.config.max_deliver <= tried:
            return False
        if tried == self.config.max_deliver:
            self._advise(seq, tried)
        del self.lent[seq]
        self._count_try(seq)
        return True

    def _is_over(self, lent: Lent) -> bool:
        return lent.since_s + self.config.ack_wait_s <= self.agenda.now_s

    def _arm_ack_timer(self) -> None:
        """What is over and still here waits for a pull, not for the time."""
        ends = (lent.since_s + self.config.ack_wait_s for lent in self.lent.values())
        next_s = min((end_s for end_s in ends if end_s > self.agenda.now_s), default=None)
        if next_s is not None:
            self.agenda.arm(self._ack_timer, next_s)

    def _arm_pull_timer(self) -> None:
        if (due_s := self.waiting.next_due_s()) is not None:
            self.agenda.arm(self._pull_timer, due_s)

    def _advise(self, seq: int, deliveries: int) -> None:
        self.outlet.advise_max_deliveries(self.stream.config.name, self.config.name, seq, deliveries)

    def _count_try(self, seq: int) -> int:
        self.tries[seq] = self.tries.get(seq, 0) + 1
        return self.tries[seq] + 1

    def _uncount_try(self, seq: int) -> None:
        self.tries[seq] -= 1
        if not self.tries[seq]:
            del self.tries[seq]

    def _count_unseen(self) -> int:
        return sum(1 for stored in self.stream if stored.seq >= self.next_seq and self._is_mine(stored))

    def _is_mine(self, stored: Stored) -> bool:
        subject = stored.subject
        if (known := self._matched.get(subject)) is None:
            known = self._matched[subject] = matches(self.config.filter_subject or ">", subject)
        return known
