"""The requests that wait for results, each owned by the one scope that opened it (§8.2).

Leaving the scope, however it is left, takes the collector out; results that come later find nothing and are dropped.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import trio

from sie.domain.errors import ErrorCode
from sie.domain.ids import RequestId
from sie.gateway.core.collect import Collector, Ending
from sie.wire.result import WorkResult


@attrs.define
class Waiting:
    """A collector with the event that wakes its owner: at the ending, or once every publish is acknowledged."""

    collector: Collector
    over: trio.Event = attrs.field(factory=trio.Event)
    stored: trio.Event = attrs.field(factory=trio.Event)

    def receive(self, result: WorkResult) -> None:
        if self.collector.receive(result):
            self._end()

    def give_up(self, code: ErrorCode, message: str) -> None:
        self.collector.give_up(code, message)
        self._end()

    def expect_acks(self, count: int) -> None:
        self.collector.acks_missing = count

    def acknowledge(self) -> None:
        self.collector.acks_missing -= 1
        if self.collector.acks_missing <= 0:
            self.stored.set()

    def _end(self) -> None:
        self.stored.set()
        self.over.set()

    async def wait(self, *, ack_s: float, timeout_s: float) -> Ending | None:
        """The ending; None when `timeout_s` ran out first. Without every ack in `ack_s` the work may not be stored."""
        deadline = trio.current_time() + timeout_s
        with trio.move_on_after(min(ack_s, timeout_s)):
            await self.stored.wait()
        if not self.stored.is_set() and ack_s < timeout_s:
            missing = self.collector.acks_missing
            self.give_up(ErrorCode.QUEUE_UNAVAILABLE, f"{missing} item(s) were not acknowledged within {ack_s:g} s")
        with trio.move_on_at(deadline):
            await self.over.wait()
        return self.collector.ending


@attrs.define
class Pending:
    """Keyed by request id. Bounded by admission: each entry is an HTTP request that is being handled."""

    _waiting: dict[RequestId, Waiting] = attrs.field(factory=dict)

    @contextmanager
    def open(self, request: RequestId, total: int) -> Iterator[Waiting]:
        waiting = Waiting(Collector(request, total))
        self._waiting[request] = waiting
        try:
            yield waiting
        finally:
            del self._waiting[request]

    def find(self, request: RequestId) -> Waiting | None:
        return self._waiting.get(request)

    def __len__(self) -> int:
        return len(self._waiting)
