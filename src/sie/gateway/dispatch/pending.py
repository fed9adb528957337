"""The requests that wait for results, each owned by the one scope that opened it (§8.2).

Leaving the scope, however it is left, takes the collector out and gives back what its chunks reserved; results that
come later find nothing and are dropped.
"""

from contextlib import AbstractContextManager
from types import TracebackType

import attrs
import msgspec
import trio

from sie.domain.errors import ErrorCode
from sie.domain.ids import RequestId
from sie.gateway.core.chunks import ChunkMemory, RequestChunks
from sie.gateway.core.collect import Collected, Collector
from sie.gateway.dispatch.acks import Acks
from sie.web.routes import ClientLeft, Leaving
from sie.wire.result_chunk import Reply


@attrs.define(eq=False)
class Waiting:
    """A collector with its owner, who is woken at the ending. `sent_s` is when all was handed to the connection."""

    collector: Collector
    is_over: bool = False
    is_expired: bool = False
    is_left: bool = False
    sent_s: float | None = None
    _asleep: trio.lowlevel.Task | None = None
    _watching: list[Acks] = attrs.field(factory=list)

    def watch(self, acks: Acks) -> None:
        """They end with the request, if not before."""
        self._watching.append(acks)
        if self.is_over:
            acks.request_is_over()

    def sent(self) -> None:
        """All of it, for the first time."""
        if self.sent_s is None:
            self.sent_s = trio.current_time()

    def heed(self, leaving: Leaving | None) -> None:
        if leaving is not None:
            leaving.listen(self._leave)

    async def until_over(self) -> None:
        """Returns where the request is expired, too. Raises ClientLeft."""
        if not (self.is_over or self.is_expired or self.is_left):
            self._asleep = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._cancelled)
        if self.is_left and not self.is_over:
            raise ClientLeft

    def _cancelled(self, _: object) -> trio.lowlevel.Abort:
        self._asleep = None
        return trio.lowlevel.Abort.SUCCEEDED

    def receive(self, reply: Reply) -> None:
        if self.collector.receive(reply):
            self._end()

    def spoil(self) -> None:
        self.collector.spoil()
        self._end()

    def give_up(self, code: ErrorCode, message: str) -> None:
        self.collector.give_up(code, message)
        self._end()

    def expire(self) -> None:
        """Its time has run out."""
        self.is_expired = True
        self._wake()

    def _leave(self) -> None:
        self.is_left = True
        self._wake()

    def _wake(self) -> None:
        """One task waits at most, so that it needs no event, which would cost as much again."""
        task, self._asleep = self._asleep, None
        if task is not None:
            trio.lowlevel.reschedule(task)

    def _end(self) -> None:
        self.is_over = True
        self._wake()
        for acks in self._watching:
            acks.request_is_over()

    @property
    def is_answered(self) -> bool:
        """Every item has its result, so nobody still works on any."""
        return isinstance(self.collector.ending, Collected)


@attrs.define(eq=False)
class Pending:
    """Keyed by request id. Bounded by admission: each entry is an HTTP request that is being handled.

    `late` counts results that came for nobody, `garbled` those that could not be read.
    """

    memory: ChunkMemory = attrs.field(factory=ChunkMemory)
    late: int = 0
    garbled: int = 0
    _waiting: dict[RequestId, Waiting] = attrs.field(factory=dict)

    def open(self, request: RequestId, total: int) -> AbstractContextManager[Waiting]:
        waiting = Waiting(Collector(request, total, RequestChunks(request, total, self.memory)))
        self._waiting[request] = waiting
        return _Opened(self, waiting)

    def close(self, waiting: Waiting) -> None:
        collector = waiting.collector
        del self._waiting[RequestId(collector.request_id)]
        collector.chunks.release()

    def find(self, request: RequestId) -> Waiting | None:
        return self._waiting.get(request)

    def __len__(self) -> int:
        return len(self._waiting)


class _Opened(msgspec.Struct, frozen=True):
    """Every request has one, and a generator would cost several times as much."""

    pending: Pending
    waiting: Waiting

    def __enter__(self) -> Waiting:
        return self.waiting

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pending.close(self.waiting)
