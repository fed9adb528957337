"""Whether the broker has stored what was sent (§8.2): the acks of one submission, counted as they come."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import Literal, assert_never

import attrs
import msgspec
import trio

from sie.bus.api import Correlation, Message, Replies
from sie.bus.jetstream import PubAck, PubRefused, decode_pub_ack

Settled = Literal["stored", "refused", "late", "over"]
ACK_DEADLINE_S = 6.0
"""All acks of one request (§8.2)."""


@attrs.define(eq=False)
class Acks:
    """`seqs` are the places in the stream of the items that were listened for one by one.

    `when_settled` is called once, in the bus's own call, where nobody waits by `settled_within`.
    """

    expected: int
    when_settled: Callable[[], None] | None = None
    stored: int = attrs.field(default=0, init=False)
    refusal: PubRefused | None = attrs.field(default=None, init=False)
    is_settled: bool = attrs.field(default=False, init=False)
    seqs: dict[int, int] = attrs.field(factory=dict, init=False)
    _waited: trio.Event | None = attrs.field(default=None, init=False)

    @property
    def settled(self) -> Settled:
        if self.refusal is not None:
            return "refused"
        if self.stored == self.expected:
            return "stored"
        return "over" if self.is_settled else "late"

    async def settled_within(self, seconds: float) -> Settled:
        if not self.is_settled:
            self._waited = trio.Event()
            with trio.move_on_after(seconds):
                await self._waited.wait()
        return self.settled

    def request_is_over(self) -> None:
        """Nobody asks for the rest of them any more."""
        self._settle()

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
            self._settle()

    def _settle(self) -> None:
        if self.is_settled:
            return
        self.is_settled = True
        if self._waited is not None:
            self._waited.set()
        call, self.when_settled = self.when_settled, None
        if call is not None:
            call()


def listening(bus: Replies, acks: Acks) -> AbstractContextManager[str]:
    """One reply subject for all of them, as long as the block lasts."""
    return _Listening(bus.correlate(partial(acks.receive, None)))


class _Listening(msgspec.Struct, frozen=True):
    """Every request has one, and a generator would cost several times as much."""

    correlation: Correlation

    def __enter__(self) -> str:
        return self.correlation.subject

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.correlation.forget()


@contextmanager
def listening_to_each(bus: Replies, acks: Acks) -> Iterator[tuple[str, ...]]:
    """A reply subject for each, in order: which item has which place is told by no ack itself."""
    with ExitStack() as stack:
        correlations = [bus.correlate(partial(acks.receive, index)) for index in range(acks.expected)]
        for correlation in correlations:
            stack.callback(correlation.forget)
        yield tuple(correlation.subject for correlation in correlations)
