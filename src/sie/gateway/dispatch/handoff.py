"""Work goes over to the broker for good (§8.2): sent, and acknowledged in time. That alone meets a lane's demand."""

from collections.abc import Sequence

import attrs
import msgspec
import trio

from sie.bus.api import BusError
from sie.bus.jetstream import PubRefused, StreamSpec
from sie.domain.errors import ErrorCode
from sie.domain.lane import Lane
from sie.gateway.core.collect import GaveUp
from sie.gateway.core.deadlines import Deadlines
from sie.gateway.core.demand import Demand
from sie.gateway.dispatch.acks import ACK_DEADLINE_S, Acks, Settled, listening
from sie.gateway.dispatch.pending import Waiting
from sie.gateway.dispatch.publisher import Parcel, Publisher


@attrs.define(eq=False)
class Counts:
    """What became of handoffs and items (§8.2)."""

    stored: int = 0
    failed: int = 0
    items: int = 0


class Work(msgspec.Struct, frozen=True):
    """What goes to a pool's queue."""

    lane: Lane
    stream: StreamSpec
    parcels: Sequence[Parcel]


@attrs.frozen
class Handoff:
    """`deadlines` are those of the acks."""

    publisher: Publisher
    demand: Demand
    deadlines: Deadlines = attrs.field(factory=Deadlines)
    counts: Counts = attrs.field(factory=Counts)

    async def carry(self, work: Work, waiting: Waiting, deadline_s: float) -> None:
        """All of a request to its pool's queue. Returns when that is over, or at its deadline. Raises ClientLeft.

        One wait for acks and results: what follows from an ack is done as it comes.
        """
        acks = Acks(len(work.parcels))
        handover = _Handover(self, work, acks, waiting)
        acks.when_settled = handover.settled
        waiting.watch(acks)
        self.demand.begin_handover(work.lane)
        try:
            with listening(self.publisher.bus, acks) as reply:
                if await self._is_sent(handover, reply, deadline_s):
                    handover.begin()
                    await waiting.until_over()
        finally:
            handover.end()

    async def _is_sent(self, handover: "_Handover", reply: str, deadline_s: float) -> bool:
        work = handover.work
        try:
            if not self.publisher.submit_nowait(work.stream, work.parcels, reply):
                with trio.move_on_at(deadline_s) as in_time:
                    await self.publisher.submit(work.stream, work.parcels, (reply,))
                if in_time.cancelled_caught:
                    return False
        except BusError as error:
            handover.fail(self.failed(work.lane, _unavailable(str(error) or type(error).__name__)))
            return False
        handover.waiting.sent()
        return True

    async def give(self, work: Work, waiting: Waiting) -> GaveUp | None:
        """Some of a request, once more. The problem, where not all of it is stored for certain."""
        acks = Acks(len(work.parcels))
        waiting.watch(acks)
        with self.demand.handing_over(work.lane), listening(self.publisher.bus, acks) as reply:
            try:
                await self.publisher.submit(work.stream, work.parcels, (reply,))
                waiting.sent()
            except BusError as error:
                return self.failed(work.lane, _unavailable(str(error) or type(error).__name__))
            return self.judged(work.lane, work.stream, acks, await acks.settled_within(ACK_DEADLINE_S))

    def judged(self, lane: Lane, stream: StreamSpec, acks: Acks, settled: Settled) -> GaveUp | None:
        if settled in ("stored", "over"):
            self.counts.stored += 1
            self.counts.items += acks.expected
            self.demand.met(lane)
            return None
        if acks.refusal is not None:
            return self.failed(lane, self._refusal(stream, acks.refusal))
        missing = acks.expected - acks.stored
        return self.failed(lane, _unavailable(f"{missing} item(s) were not acknowledged within {ACK_DEADLINE_S:g} s"))

    def failed(self, lane: Lane, problem: GaveUp) -> GaveUp:
        self.counts.failed += 1
        self.demand.record(lane, trio.current_time())
        return problem

    def _refusal(self, stream: StreamSpec, refused: PubRefused) -> GaveUp:
        if refused.reason == "no_stream":
            self.publisher.streams.forget(stream.name)
        code = ErrorCode.QUEUE_FULL if refused.reason == "stream_full" else ErrorCode.QUEUE_UNAVAILABLE
        return GaveUp(code, f"the broker did not take the work: {refused.description or refused.reason}")


@attrs.define(eq=False)
class _Handover:
    """A request's work on its way to its pool's queue, which makes its lane a wanted one."""

    handoff: Handoff
    work: Work
    acks: Acks
    waiting: Waiting
    is_under_way: bool = True
    deadline: int | None = None

    def begin(self) -> None:
        """All is sent; from here on acks have their time."""
        if self.is_under_way and self.waiting.sent_s is not None:
            self.deadline = self.handoff.deadlines.begin(self.waiting.sent_s + ACK_DEADLINE_S, self.settled)

    def settled(self) -> None:
        work = self.work
        problem = self.handoff.judged(work.lane, work.stream, self.acks, self.acks.settled)
        self.end()
        if problem is not None:
            self.waiting.give_up(problem.code, problem.message)

    def fail(self, problem: GaveUp) -> None:
        """What is known of it already."""
        self.end()
        self.waiting.give_up(problem.code, problem.message)

    def end(self) -> None:
        self.acks.when_settled = None
        if self.is_under_way:
            self.is_under_way = False
            if self.deadline is not None:
                self.handoff.deadlines.end(self.deadline)
            self.handoff.demand.end_handover(self.work.lane)


def _unavailable(why: str) -> GaveUp:
    return GaveUp(ErrorCode.QUEUE_UNAVAILABLE, f"the work could not be queued: {why}")
