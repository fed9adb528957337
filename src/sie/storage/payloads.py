"""Where do inputs lie that are too long for a message (§16.2)? Under bare keys in one place, for as long as a request.

They are transient: a write is whole or not there, and need not outlive a power cut. Whoever put one deletes it; what a
process left behind that ended before is swept by age.
"""

from collections.abc import Iterable
from typing import Protocol

from sie.domain.ids import InvalidId, RouterId
from sie.storage.backend import StorageError
from sie.wire.payload import MAX_OBJECT_BYTES, PayloadKey, payload_key, router_of


class PayloadStore(Protocol):
    """Blocking, bounded in time but for a local disk, called off the loop. Everything raises StorageError."""

    def put(self, key: PayloadKey, data: bytes) -> None:
        """The last one under a key counts. Raises PayloadTooLarge."""
        ...

    def get(self, key: PayloadKey, *, max_bytes: int = MAX_OBJECT_BYTES) -> bytes | None:
        """None where there is no such object. Raises PayloadTooLarge, without having read it."""
        ...

    def delete(self, keys: Iterable[PayloadKey]) -> None:
        """What is not there is deleted."""
        ...

    def sweep(self, *, before_unix_s: float, router: RouterId | None = None) -> int:
        """Delete what was put before then, by the store's own clock, by this router or by any; returns how many.

        Only what bears a name that gateways of ours give: the place may hold other things.
        """
        ...


class PayloadTooLarge(StorageError):
    def __init__(self, key: str, size_bytes: int, max_bytes: int) -> None:
        super().__init__(f"payload {key} is {size_bytes} bytes long, over the limit of {max_bytes}")
        self.size_bytes = size_bytes
        self.max_bytes = max_bytes


def checked_key(key: str) -> PayloadKey:
    """Raises StorageError: a key may have come over the wire, and been taken for granted on its way here."""
    try:
        return payload_key(key)
    except InvalidId as error:
        raise StorageError(str(error)) from error


def check_size(key: str, size_bytes: int, max_bytes: int = MAX_OBJECT_BYTES) -> None:
    """Raises PayloadTooLarge."""
    if size_bytes > max_bytes:
        raise PayloadTooLarge(key, size_bytes, max_bytes)


def is_swept(name: str, put_unix_s: float, *, before_unix_s: float, router: RouterId | None) -> bool:
    owner = router_of(name)
    return owner is not None and router in (None, owner) and put_unix_s < before_unix_s
