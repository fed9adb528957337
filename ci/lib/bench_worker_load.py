"""Who gives the worker of `ci/bench worker` its work: so many items are under way at a time, each until it is acked."""

import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import trio

from ci.lib.bench_worker_facts import IN_FLIGHT, LANE, ROUTER, Served, consumer, stream
from sie.bus.api import Bus, Message
from sie.bus.jetstream import ensure_consumer, ensure_stream
from sie.bus.nats import open_bus
from sie.domain.lane import Lane
from sie.domain.subjects import inbox_prefix
from sie.wire.result import decode_result

WITHIN_S = 120.0


@attrs.frozen
class Times:
    """Of the batch that a result comes from, in milliseconds."""

    tokenization_ms: float
    inference_ms: float
    postprocessing_ms: float


@attrs.frozen
class Answered:
    """One result: when it came."""

    at_s: float
    batch: Times


@attrs.define(eq=False)
class Feed:
    """`answers` counts the results of each item."""

    bus: Bus
    lane: Lane
    served: Served
    in_flight: int
    sent: int = 0
    acked: int = 0
    wanted: int = 0
    answers: Counter[str] = attrs.field(factory=Counter)
    results: list[Answered] = attrs.field(factory=list)
    done: trio.Event = attrs.field(factory=trio.Event)

    async def run(self, count: int) -> None:
        """Returns when so many more were acked."""
        self.start(count)
        with trio.fail_after(WITHIN_S):
            await self.done.wait()

    def start(self, count: int) -> None:
        self.wanted, self.done = self.wanted + count, trio.Event()
        for _ in range(min(count, self.in_flight)):
            self._send()

    def on_ack(self, message: Message) -> None:
        if message.data != b"+ACK":
            return
        self.acked += 1
        if self.sent < self.wanted:
            self._send()
        elif self.acked >= self.wanted:
            self.done.set()

    def on_result(self, message: Message) -> None:
        result = decode_result(message.data)
        assert result.success, result.error
        self.answers[result.work_item_id] += 1
        times = Times(result.tokenization_ms or 0.0, result.inference_ms or 0.0, result.postprocessing_ms or 0.0)
        self.results.append(Answered(time.monotonic(), times))

    def _send(self) -> None:
        data = self.served.work(self.sent)
        self.sent += 1
        self.bus.publish_nowait(self.served.subject(self.lane), data)


@asynccontextmanager
async def open_feed(url: str, served: Served, lane: Lane = LANE, *, in_flight: int = IN_FLIGHT) -> AsyncIterator[Feed]:
    """Of one lane, whose stream and consumer are there then. A broker tells everybody of the acks it gets."""
    async with open_bus(url, inbox=inbox_prefix(ROUTER), name="feed") as bus:
        await bus.wait_session()
        await ensure_stream(bus, stream(lane))
        await ensure_consumer(bus, consumer(lane))
        feed = Feed(bus, lane, served, in_flight)
        bus.on_inbox(feed.on_result)
        async with bus.subscribe(f"$JS.ACK.{stream(lane).name}.>", feed.on_ack):
            yield feed
