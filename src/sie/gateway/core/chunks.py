"""Results that come in chunks (§16.2): one request's transfers, put together within bounds of memory. Sans-IO.

Chunk zero of another transfer replaces what an item has, as redelivered work runs anew; a rule that is broken ends the
request. `RequestChunks` lives as long as its request and is released with it; one `ChunkMemory` is the process's.
"""

from collections import Counter, deque

import attrs

from sie.gateway.core.chunk_transfer import Failure, Layout, Reason, Transfer
from sie.wire.converters import WireError
from sie.wire.result import WorkResult, decode_result
from sie.wire.result_chunk import ResultChunk

COPIES = 3
"""What a result takes at most: its fragments, the whole, and the decoded one that waits for the request's others."""
BOOKKEEPING_BYTES = 4 * 1024
MAX_REQUEST_BYTES = 64 * 1024 * 1024
MAX_PROCESS_BYTES = 256 * 1024 * 1024
TOMBSTONES = 16
"""Layouts remembered for an item, the oldest forgotten first; with their digests they take half of its bookkeeping."""


def reservation_bytes(total_bytes: int) -> int:
    return COPIES * total_bytes + BOOKKEEPING_BYTES


@attrs.define
class ChunkMemory:
    """What all requests have reserved, and what became of chunks that did not count: late ones, and failures."""

    max_bytes: int = MAX_PROCESS_BYTES
    reserved_bytes: int = attrs.field(default=0, init=False)
    late: int = attrs.field(default=0, init=False)
    failures: Counter[Reason] = attrs.field(factory=Counter, init=False)

    def reserve(self, count: int) -> bool:
        fits = self.reserved_bytes + count <= self.max_bytes
        self.reserved_bytes += count if fits else 0
        return fits

    def release(self, count: int) -> None:
        self.reserved_bytes -= count


@attrs.define
class _Item:
    """A reservation outlives its transfer, for as long as the result does."""

    transfer: Transfer | None = None
    reserved_bytes: int = 0
    left: deque[Layout] = attrs.field(factory=lambda: deque(maxlen=TOMBSTONES))

    def is_past(self, chunk: ResultChunk) -> bool:
        """Of a transfer that was left, or the middle of one whose beginning has not come."""
        layout = Layout.of(chunk)
        is_other = self.transfer is not None and self.transfer.layout != layout
        return layout in self.left or (is_other and chunk.chunk_index != 0)

    def leave(self) -> None:
        """What is still on its way of the transfer cannot flip the item back."""
        if self.transfer is not None:
            self.left.append(self.transfer.layout)
            self.transfer = None


@attrs.define
class RequestChunks:
    """`total` is the number of the request's items. Nothing is reserved any more after a Failure or `release`."""

    request_id: str
    total: int
    memory: ChunkMemory
    max_bytes: int = MAX_REQUEST_BYTES
    is_closed: bool = attrs.field(default=False, init=False)
    reserved_bytes: int = attrs.field(default=0, init=False)
    _items: dict[int, _Item] = attrs.field(factory=dict, init=False)
    _done: set[int] = attrs.field(factory=set, init=False)

    def receive(self, chunk: ResultChunk) -> WorkResult | Failure | None:
        """The result that this chunk completes; None where there is nothing to do yet, or any more."""
        if self.is_closed or chunk.item_index in self._done:
            self.memory.late += 1
            return None
        if not self._names_an_item(chunk):
            return self.fail("identity")
        item = self._items.setdefault(chunk.item_index, _Item())
        if item.is_past(chunk):
            self.memory.late += 1
            return None
        received = self._advance(item, chunk)
        return self.fail(received.reason) if isinstance(received, Failure) else received

    def settle(self, item_index: int) -> None:
        """A result that was no transfer counts for the item. Changes nothing where its chunks were put together."""
        if item_index not in self._done:
            self._done.add(item_index)
            if self._items:
                self._drop(self._items.get(item_index))

    def reject(self, item_index: int) -> None:
        """The result that was put together does not count (§8.2: it is a stale direct one); another may come."""
        self._done.discard(item_index)
        self._drop(self._items.get(item_index))

    def fail(self, reason: Reason) -> Failure:
        """Also for a message of this request that says it is a chunk and cannot be read: `malformed`."""
        if not self.is_closed:
            self.memory.failures[reason] += 1
        self.release()
        return Failure(reason)

    def release(self) -> None:
        """Once, however often it is called."""
        self.is_closed = True
        for item in self._items.values():
            self._drop(item)
        self._items.clear()

    def _names_an_item(self, chunk: ResultChunk) -> bool:
        is_ours = chunk.request_id == self.request_id and 0 <= chunk.item_index < self.total
        return is_ours and chunk.work_item_id == f"{self.request_id}.{chunk.item_index}"

    def _advance(self, item: _Item, chunk: ResultChunk) -> WorkResult | Failure | None:
        transfer = self._transfer_of(item, chunk)
        received = transfer if isinstance(transfer, Failure) else transfer.add(chunk)
        return self._finish(item, chunk, received) if isinstance(received, bytes) else received

    def _transfer_of(self, item: _Item, chunk: ResultChunk) -> Transfer | Failure:
        layout, present = Layout.of(chunk), item.transfer
        if present is not None and present.layout == layout:
            return present
        if present is not None:
            if present.layout.digest == layout.digest and present.total_bytes != chunk.total_bytes:
                return Failure("metadata")
            self._drop(item)
        item.transfer = Transfer(layout, chunk.total_bytes)
        return self._reserve(item, chunk.total_bytes) or item.transfer

    def _finish(self, item: _Item, chunk: ResultChunk, whole: bytes) -> WorkResult | Failure:
        """The reservation stays until the request is over: so does the result."""
        try:
            result = decode_result(whole)
        except WireError:
            return Failure("malformed")
        said = (result.work_item_id, result.request_id, result.item_index)
        if said != (chunk.work_item_id, chunk.request_id, chunk.item_index):
            return Failure("identity")
        self._done.add(chunk.item_index)
        item.leave()
        return result

    def _reserve(self, item: _Item, total_bytes: int) -> Failure | None:
        wanted = reservation_bytes(total_bytes)
        if self.reserved_bytes + wanted > self.max_bytes:
            return Failure("request_budget")
        if not self.memory.reserve(wanted):
            return Failure("global_budget")
        self.reserved_bytes += wanted
        item.reserved_bytes = wanted
        return None

    def _drop(self, item: _Item | None) -> None:
        if item is not None:
            self.memory.release(item.reserved_bytes)
            self.reserved_bytes -= item.reserved_bytes
            item.reserved_bytes = 0
            item.leave()
