"""Work goes over to the broker for good (§8.2): sent, and acknowledged in time. That alone meets a lane's demand."""

from collections.abc import Callable, Sequence

import attrs
import trio

from sie.bus.api import BusError
from sie.bus.jetstream import PubRefused, StreamSpec
from sie.domain.errors import ErrorCode
from sie.domain.lane import Lane
from sie.gateway.core.collect import GaveUp
from sie.gateway.core.demand import Demand
from sie.gateway.dispatch.acks import ACK_DEADLINE_S, Acks, Settled, listening
from sie.gateway.dispatch.pending import Waiting
from sie.gateway.dispatch.publisher import Parcel, Publisher

Sent = Callable[[], None]


@attrs.define(eq=False)
class Counts:
    """What became of handoffs and items (§8.2)."""

    stored: int = 0
    failed: int = 0
    items: int = 0


@attrs.frozen
class Handoff:
    publisher: Publisher
    demand: Demand
    counts: Counts = attrs.field(factory=Counts)

    async def give(
        self, lane: Lane, stream: StreamSpec, parcels: Sequence[Parcel], waiting: Waiting, sent: Sent
    ) -> GaveUp | None:
        """`sent` is called once all is with the connection. The problem, where not all of it is stored for certain."""
        acks = Acks(len(parcels))
        waiting.watch(acks)
        with self.demand.handing_over(lane), listening(self.publisher.bus, acks) as reply:
            try:
                await self.publisher.submit(stream, parcels, (reply,))
                sent()
            except BusError as error:
                return self.failed(lane, _unavailable(str(error) or type(error).__name__))
            return self.judged(lane, stream, acks, await acks.settled_within(ACK_DEADLINE_S))

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


def _unavailable(why: str) -> GaveUp:
    return GaveUp(ErrorCode.QUEUE_UNAVAILABLE, f"the work could not be queued: {why}")
