"""Word that queued work is not wanted any more (§8, decisions), as a msgpack map. Never more than a hint."""

from typing import TypeVar

import attrs

from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, structure


@attrs.frozen(kw_only=True)
class WorkCancel:
    """Of all work of a request."""

    router_id: str
    request_id: str
    reason: str = ""


@attrs.frozen(kw_only=True)
class BatchCancel:
    """Of the items that were sent to one worker by name, and wait in its pool's queue by now."""

    router_id: str
    request_id: str
    worker_id: str
    item_indexes: tuple[int, ...]
    reason: str = ""


Cancel = TypeVar("Cancel", WorkCancel, BatchCancel)


def encode_cancel(cancel: WorkCancel | BatchCancel) -> bytes:
    return pack(attrs.asdict(cancel))


def decode_cancel(data: bytes, kind: type[Cancel]) -> Cancel:
    """Raises WireError."""
    return structure(TOLERANT, unpack(data), kind)
