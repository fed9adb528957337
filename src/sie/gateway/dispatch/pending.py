"""The requests that wait for results, each owned by the one scope that opened it (§8.2).

Leaving the scope, however it is left, takes the collector out and gives back what its chunks reserved; results that
come later find nothing and are dropped.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import trio

from sie.domain.errors import ErrorCode
from sie.domain.ids import RequestId
from sie.gateway.core.chunks import ChunkMemory, RequestChunks
from sie.gateway.core.collect import Collected, Collector
from sie.gateway.dispatch.acks import Acks
from sie.wire.result_chunk import Reply


@attrs.define(eq=False)
class Waiting:
    """A collector with the event that wakes its owner at the ending."""

    collector: Collector
    over: trio.Event = attrs.field(factory=trio.Event)
    _watching: list[Acks] = attrs.field(factory=list)

    def watch(self, acks: Acks) -> None:
        """They end with the request, if not before."""
        self._watching.append(acks)
        if self.over.is_set():
            acks.request_is_over()

    def receive(self, reply: Reply) -> None:
        if self.collector.receive(reply):
            self._end()

    def spoil(self) -> None:
        self.collector.spoil()
        self._end()

    def give_up(self, code: ErrorCode, message: str) -> None:
        self.collector.give_up(code, message)
        self._end()

    def _end(self) -> None:
        self.over.set()
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

    @contextmanager
    def open(self, request: RequestId, total: int) -> Iterator[Waiting]:
        chunks = RequestChunks(request, total, self.memory)
        waiting = Waiting(Collector(request, total, chunks))
        self._waiting[request] = waiting
        try:
            yield waiting
        finally:
            del self._waiting[request]
            chunks.release()

    def find(self, request: RequestId) -> Waiting | None:
        return self._waiting.get(request)

    def __len__(self) -> int:
        return len(self._waiting)
