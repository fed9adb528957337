"""Whether the broker has stored what was sent (§8.2): the acks of one submission, counted as they come."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Literal, assert_never

import attrs
import trio

from sie.bus.api import Message, Replies
from sie.bus.jetstream import PubAck, PubRefused, decode_pub_ack

Settled = Literal["stored", "refused", "late", "over"]
ACK_DEADLINE_S = 6.0
"""All acks of one request (§8.2)."""


@attrs.define(eq=False)
class Acks:
    """`seqs` are the places in the stream of the items that were listened for one by one."""

    expected: int
    stored: int = attrs.field(default=0, init=False)
    refusal: PubRefused | None = attrs.field(default=None, init=False)
    seqs: dict[int, int] = attrs.field(factory=dict, init=False)
    _settled: trio.Event = attrs.field(factory=trio.Event, init=False)

    async def settled_within(self, seconds: float) -> Settled:
        with trio.move_on_after(seconds):
            await self._settled.wait()
        if self.refusal is not None:
            return "refused"
        if self.stored == self.expected:
            return "stored"
        return "over" if self._settled.is_set() else "late"

    def request_is_over(self) -> None:
        """Nobody asks for the rest of them any more."""
        self._settled.set()

    def receive(self, index: int | None, message: Message) -> None:
        match decode_pub_ack(message):
            case PubAck(seq=seq):
                self.stored += 1
                if index is not None:
                    self.seqs[index] = seq
            case PubRefused() as refused:
                self.refusal = self.refusal or refused
            case other:
                assert_never(other)
        if self.refusal is not None or self.stored == self.expected:
            self._settled.set()


@contextmanager
def listening(bus: Replies, acks: Acks) -> Iterator[str]:
    """One reply subject for all of them, as long as the block lasts."""
    correlation = bus.correlate(partial(acks.receive, None))
    try:
        yield correlation.subject
    finally:
        correlation.forget()


@contextmanager
def listening_to_each(bus: Replies, acks: Acks) -> Iterator[tuple[str, ...]]:
    """A reply subject for each, in order: which item has which place is told by no ack itself."""
    with ExitStack() as stack:
        correlations = [bus.correlate(partial(acks.receive, index)) for index in range(acks.expected)]
        for correlation in correlations:
            stack.callback(correlation.forget)
        yield tuple(correlation.subject for correlation in correlations)
