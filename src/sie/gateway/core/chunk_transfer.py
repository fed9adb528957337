"""How is one result put together from its chunks (§16.2), and what is no chunk of it? In any order, each one once."""

from hashlib import sha256
from typing import Literal, Protocol

import attrs

from sie.domain.errors import ErrorCode
from sie.wire.result_chunk import ResultChunk

Reason = Literal["malformed", "identity", "metadata", "conflict", "length", "digest", "request_budget", "global_budget"]


@attrs.frozen
class Failure:
    """The request is over. `reason` is for logs and counters; a client is told `code` and `message` alone (§16.2)."""

    reason: Reason

    code = ErrorCode.TRANSPORT_FAILURE
    message = "a result could not be carried back from the worker"


@attrs.frozen
class Layout:
    """What tells two transfers of an item apart."""

    digest: bytes
    chunk_count: int

    @classmethod
    def of(cls, chunk: ResultChunk) -> "Layout":
        return cls(chunk.transfer_digest, chunk.chunk_count)


class Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


@attrs.define
class Transfer:
    """Takes chunks of its layout alone. They are hashed as they come, so that the last one costs little more."""

    layout: Layout
    total_bytes: int
    _fragments: dict[int, bytes] = attrs.field(factory=dict, init=False)
    _held_bytes: int = attrs.field(default=0, init=False)
    _hash: Hash = attrs.field(factory=sha256, init=False)
    _hashed: int = attrs.field(default=0, init=False)

    def add(self, chunk: ResultChunk) -> bytes | Failure | None:
        """The whole, once it is there."""
        if chunk.total_bytes != self.total_bytes:
            return Failure("metadata")
        known = self._fragments.get(chunk.chunk_index)
        if known is not None:
            return None if known == chunk.payload else Failure("conflict")
        self._fragments[chunk.chunk_index] = chunk.payload
        self._held_bytes += len(chunk.payload)
        missing = self.layout.chunk_count - len(self._fragments)
        if self._held_bytes + missing > self.total_bytes:  # none of those that are missing is empty
            return Failure("length")
        self._hash_on()
        return None if missing else self._whole()

    def _hash_on(self) -> None:
        while (fragment := self._fragments.get(self._hashed)) is not None:
            self._hash.update(fragment)
            self._hashed += 1

    def _whole(self) -> bytes | Failure:
        if self._held_bytes != self.total_bytes:
            return Failure("length")
        if self._hash.digest() != self.layout.digest:
            return Failure("digest")
        return b"".join(self._fragments[index] for index in range(self.layout.chunk_count))
