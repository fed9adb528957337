"""What one request waits for (§16.2): a result for each item, the first counting, or a reason to give up. Sans-IO.

Where work that was sent to one worker was sent to its pool too, the one's results stop counting (§8.2).
"""

from typing import TypeAlias

import attrs
import msgspec

from sie.domain.errors import ErrorCode
from sie.gateway.core.chunk_transfer import Failure
from sie.gateway.core.chunks import RequestChunks
from sie.wire.result import WorkResult
from sie.wire.result_chunk import Reply, ResultChunk


@attrs.frozen
class GaveUp:
    """The transport failed the request as a whole."""

    code: ErrorCode
    message: str


class Collected(msgspec.Struct, frozen=True):
    """One result an item, in item order."""

    results: tuple[WorkResult, ...]


Ending: TypeAlias = Collected | GaveUp


@attrs.define
class Collector:
    """Results are kept by item index; a second one for an index, or one of no item of ours, changes nothing."""

    request_id: str
    total: int
    chunks: RequestChunks
    ending: Ending | None = attrs.field(default=None, init=False)
    _results: dict[int, WorkResult] = attrs.field(factory=dict, init=False)
    _resent: set[int] = attrs.field(factory=set, init=False)

    def receive(self, reply: Reply) -> bool:
        """Whether the request is over now."""
        if self.ending is None:
            if isinstance(reply, ResultChunk):
                self._receive_chunk(reply)
            elif self._count(reply):
                self.chunks.settle(reply.item_index)
        return self.ending is not None

    def spoil(self) -> None:
        """Something came that says it is a chunk and is none: it fails the request, closed (§16.2)."""
        self._fail(self.chunks.fail("malformed"))

    def resent(self, index: int) -> None:
        """The item waits in the pool's queue for certain; from here on only a result from there counts."""
        self._resent.add(index)

    def give_up(self, code: ErrorCode, message: str) -> None:
        """The first ending stands."""
        if self.ending is None:
            self.ending = GaveUp(code, message)

    def missing(self) -> tuple[int, ...]:
        return tuple(index for index in range(self.total) if index not in self._results)

    def _receive_chunk(self, chunk: ResultChunk) -> None:
        received = self.chunks.receive(chunk)
        if isinstance(received, Failure):
            self._fail(received)
        elif received is not None and not self._count(received):
            self.chunks.reject(received.item_index)

    def _count(self, result: WorkResult) -> bool:
        """Whether it is the item's result."""
        index = result.item_index
        is_ours = result.request_id == self.request_id and 0 <= index < self.total
        is_stale = result.origin == "direct" and index in self._resent
        if not is_ours or is_stale or index in self._results:
            return False
        self._results[index] = result
        if len(self._results) == self.total:
            self.ending = Collected(tuple(self._results[index] for index in range(self.total)))
        return True

    def _fail(self, failure: Failure) -> None:
        self.give_up(failure.code, failure.message)
