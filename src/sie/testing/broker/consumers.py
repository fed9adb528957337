"""Which message does a durable pull consumer lend next, to whom, and until when? Sans-IO, after nats-server's consumer.

Redeliveries come before new messages; what was lent comes back by NAK, by ack_wait or by a restart, and stays in the
stream when it was tried `max_deliver` times. That it was is told when a pull comes to it again, not when its last
ack_wait ends; only what may be delivered once is given up by the time alone.
"""

from math import inf
from typing import Literal, Protocol

import attrs

from sie.bus.api import Message
from sie.bus.jetstream_api import Json
from sie.testing.broker.agenda import Agenda, Timer
from sie.testing.broker.configs import ConsumerConfig
from sie.testing.broker.lending import Lending
from sie.testing.broker.pulls import Pull, PullRequest, WaitingPulls, ended, status
from sie.testing.broker.streams import Stored, Stream
from sie.testing.broker.subjects import matches
from sie.testing.broker.times import since_epoch_ns

NAK_CHECK_S = 0.01  # so soon after a NAK with delay the server looks what is due next
RECOVERY_CHECK_S = 1.0  # the server looks at what was lent 0.5 to 1.5 s after it started, sooner with a short ack_wait


class Outlet(Protocol):
    """What a consumer needs of its broker. `send` goes to whoever listens to `to`, under the message's own subject."""

    @property
    def silenced(self) -> int:
        """How often somebody has stopped to listen to something."""
        ...

    def has_interest(self, subject: str) -> bool: ...

    def send(self, to: str, message: Message) -> None: ...

    def advise_max_deliveries(self, stream: str, consumer: str, seq: int, deliveries: int) -> None: ...


@attrs.frozen
class Due:
    stored: Stored
    deliveries: int


Nothing = Literal["exhausted", "stalled"]


@attrs.define(eq=False)
class Consumer:
    """`unseen` is how many messages of the stream it has not come to yet.

    `first_info` is what it told of itself when its server started.
    """

    config: ConsumerConfig
    stream: Stream
    outlet: Outlet
    agenda: Agenda
    created_s: float
    first_info: Json | None = attrs.field(default=None, init=False)
    unseen: int = attrs.field(init=False)
    books: Lending = attrs.field(init=False)
    waiting: WaitingPulls = attrs.field(init=False)
    _matched: dict[str, bool] = attrs.field(factory=dict, init=False)
    _ack_timer: Timer = attrs.field(init=False)
    _pull_timer: Timer = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        next_seq = max(self.stream.first_seq, 1)
        self.books = Lending(next_seq, floor_seq=next_seq - 1)
        self.unseen = self._count_unseen()
        outlet = self.outlet
        self.waiting = WaitingPulls(
            outlet.has_interest, lambda: outlet.silenced, lambda last: outlet.send(last.subject, last)
        )
        self._ack_timer, self._pull_timer = Timer(self._check_lent), Timer(self.serve)

    def reconfigure(self, config: ConsumerConfig) -> None:
        """Only another max_ack_pending makes the server look what it can deliver, and that after it has answered."""
        before, self.config = self.config, config
        self._matched.clear()
        self.unseen = self._count_unseen()
        self._arm_ack_timer()
        if config.max_ack_pending != before.max_ack_pending and self.waiting:
            self.agenda.arm(self._pull_timer, self.agenda.now_s)

    def pull(self, request: PullRequest | None, reply: str) -> None:
        if request is None:
            self.outlet.send(reply, status(reply, "400", "Bad Request - unexpected end of JSON input"))
            return
        if request.no_wait and (refusal := self._refuse_to_wait(request)) is not None:
            self.outlet.send(reply, status(reply, *refusal))
            return
        until_s = inf if request.expires_s is None else self.agenda.now_s + request.expires_s
        if self.waiting.add(Pull(reply, request.batch, until_s, request.no_wait), self.agenda.now_s):
            self.serve()
        else:
            self.outlet.send(reply, status(reply, "409", "Exceeded MaxWaiting"))

    def serve(self) -> None:
        """Deliver until the pulls or the messages run out, then end the pulls that are over and drop the unheard."""
        nothing: Nothing = "exhausted"
        while self.waiting:
            due = self._take_due()
            if not isinstance(due, Due):
                nothing = due
                break
            if (pull := self.waiting.take(self.agenda.now_s)) is None:
                self._put_back(due)
                break
            self._deliver(pull, due)
        if self.waiting:
            self.waiting.end_over(self.agenda.now_s, exhausted=nothing == "exhausted")
            if self.waiting.due_s < inf:
                self.agenda.arm(self._pull_timer, self.waiting.due_s)

    def on_stored(self, stored: Stored) -> None:
        if self.is_mine(stored):
            self.unseen += 1
            self.serve()

    def on_removed(self, stored: Stored) -> None:
        """However it left the stream, it need not be acked any more.

        Nobody tells the consumer of what it was lent under an earlier filter: that is found when its time is over.
        """
        if self.is_mine(stored):
            if stored.seq >= self.books.next_seq:
                self.unseen -= 1
            stalled = self._is_stalled() and stored.seq in self.books.lent
            self.books.forget(stored.seq)
            if stalled:  # others may leave with it, so what to lend instead is looked for after them
                self.agenda.arm(self._pull_timer, self.agenda.now_s)

    def on_purged(self) -> None:
        """Nothing of it waits any more, and what was given up is forgotten with it."""
        self.unseen = 0
        self.books.forget_all(self.stream.first_seq)

    def needs(self, stored: Stored) -> bool:
        """Whether a work queue must keep it for this consumer."""
        return self.is_mine(stored) and self.books.is_wanted(stored.seq)

    def ack(self, seq: int) -> bool:
        """Also ends a message that was given up. False: it was never delivered."""
        if seq >= self.books.next_seq:
            return False
        self._forget(seq)
        return True

    def nak(self, seq: int, consumer_seq: int, delay_s: float) -> None:
        if not self.books.is_open(seq, consumer_seq):
            return
        if delay_s > 0:
            self.books.again.pop(seq, None)
            self.books.lent[seq].since_s = self.agenda.now_s - self.config.ack_wait_s + delay_s
            self.agenda.cancel(self._ack_timer)
            self.agenda.arm(self._ack_timer, self.agenda.now_s + NAK_CHECK_S)
            return
        self.books.again.setdefault(seq)
        self.serve()

    def progress(self, seq: int) -> None:
        if (lent := self.books.lent.get(seq)) is not None:
            lent.since_s = self.agenda.now_s

    def recover(self) -> None:
        """After a restart nobody waits, and what was to come again at once comes when its ack_wait ends."""
        self.books.again.clear()
        self.books.next_seq = self.books.written_seq + 1
        self.unseen = self._count_unseen()
        self.agenda.cancel(self._ack_timer)
        if self.books.lent:
            self.agenda.arm(self._ack_timer, self.agenda.now_s + min(self.config.ack_wait_s, RECOVERY_CHECK_S))

    @property
    def redelivered(self) -> int:
        """The server tells none of a consumer that delivers once, though it counts them."""
        return 0 if self.config.max_deliver == 1 else len(self.books.tries)

    def shut_down(self) -> None:
        """Its server ends, and says so once to each reply subject, with what the last pull of that wanted."""
        for pull in {pull.reply: pull for pull in self.waiting.take_all()}.values():
            self.outlet.send(pull.reply, ended(pull, "409", "Server Shutdown"))

    def close(self) -> None:
        for pull in self.waiting.take_all():
            self.outlet.send(pull.reply, status(pull.reply, "409", "Consumer Deleted"))
        self.agenda.cancel(self._ack_timer)
        self.agenda.cancel(self._pull_timer)

    def _refuse_to_wait(self, request: PullRequest) -> tuple[str, str] | None:
        ready = self.unseen + len(self.books.again)
        if not ready:
            return ("404", "No Messages") if request.expires_s is None else None
        self.waiting.sweep(self.agenda.now_s)
        return ("408", "Requests Pending") if ready < self.waiting.wanted() else None

    def _take_due(self) -> Due | Nothing:
        while (seq := self.books.take_again()) is not None:
            if (due := self._try_again(seq)) is not None:
                return due
        return "stalled" if self._is_stalled() else self._take_new()

    def _try_again(self, seq: int) -> Due | None:
        deliveries = self.books.count_try(seq)
        if 0 < self.config.max_deliver < deliveries:
            self._give_up(seq, deliveries - 1)
            return None
        stored = self.stream.get(seq)
        if stored is None:
            self.books.forget(seq)
            return None
        return Due(stored, deliveries)

    def _take_new(self) -> Due | Nothing:
        books = self.books
        while books.next_seq <= self.stream.last_seq:
            stored = self.stream.get(books.next_seq)
            books.next_seq += 1
            if stored is not None and self.is_mine(stored):
                self.unseen -= 1
                return Due(stored, 1)
        return "exhausted"

    def _put_back(self, due: Due) -> None:
        if due.deliveries == 1:
            self.books.next_seq = due.stored.seq
            self.unseen += 1
        else:
            self.books.give_back(due.stored.seq)

    def _deliver(self, pull: Pull, due: Due) -> None:
        stored, now_s = due.stored, self.agenda.now_s
        consumer_seq = self.books.lend(stored.seq, now_s)
        self.agenda.arm(self._ack_timer, now_s + self.config.ack_wait_s)
        place = f"{self.stream.config.name}.{self.config.name}.{due.deliveries}.{stored.seq}.{consumer_seq}"
        ack_subject = f"$JS.ACK.{place}.{since_epoch_ns(stored.stored_s)}.{max(self.unseen, 0)}"
        self.outlet.send(pull.reply, Message(stored.subject, stored.data, ack_subject, stored.headers))

    def _forget(self, seq: int) -> None:
        stalled = self._is_stalled() and seq in self.books.lent
        self.books.forget(seq)
        if stalled:
            self.serve()

    def _is_stalled(self) -> bool:
        return 0 < self.config.max_ack_pending <= len(self.books.lent)

    def _check_lent(self) -> None:
        """The ack_wait of some message ended, or would have.

        The server compares its count of redeliveries, not of deliveries, with max_deliver here. So it gives up at once
        what may be delivered once (or less often than it was); all else waits, lent still, for a pull that comes to it.
        It looks at the pulls then only if one may be served: what is given up alone wakes nobody but who was stalled.
        """
        for seq in self.books.below(self.stream.first_seq):
            self.books.forget(seq)
            self.books.write()
        may_serve = False
        due: list[int] = []
        for seq in self.books.over(self.config.ack_wait_s, self.agenda.now_s):
            again = self.books.tries.get(seq, 0)
            if 0 < self.config.max_deliver <= max(again, 1):
                may_serve = may_serve or self._is_stalled()
                self._give_up(seq, again + 1)
            else:
                may_serve = True
                due.append(seq)
        self._arm_ack_timer()
        self.books.come_again(due, self.agenda.now_s)
        if may_serve:
            self.serve()

    def _give_up(self, seq: int, deliveries: int) -> None:
        if seq in self.books.lent:
            self.outlet.advise_max_deliveries(self.stream.config.name, self.config.name, seq, deliveries)
        self.books.give_up(seq)

    def _arm_ack_timer(self) -> None:
        """When the next ack_wait ends. While anything is lent the server looks once in an ack_wait, whatever is due."""
        if self.books.lent:
            now_s, ack_wait_s = self.agenda.now_s, self.config.ack_wait_s
            self.agenda.arm(self._ack_timer, min(self.books.next_over_s(ack_wait_s, now_s), now_s + ack_wait_s))

    def _count_unseen(self) -> int:
        return sum(1 for stored in self.stream if stored.seq >= self.books.next_seq and self.is_mine(stored))

    def is_mine(self, stored: Stored) -> bool:
        subject = stored.subject
        if (known := self._matched.get(subject)) is None:
            known = self._matched[subject] = matches(self.config.filter_subject or ">", subject)
        return known
