"""One unit of work from a gateway to a worker (§16.2, wire-facts 2.2), as a msgpack map.

What is usual goes through msgspec, several times as quickly; whatever that does not take, or would write in other
bytes, goes the long way, and so do all errors.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Literal

import attrs
import msgspec
from msgspec import UNSET

from sie.wire.codec import is_plain, pack, unpack
from sie.wire.converters import TOLERANT, structure

Operation = Literal["encode", "score", "extract"]


@attrs.frozen(kw_only=True)
class WorkItem:
    """`item` is the input as the client sent it, or `query_item` and `score_items` for score; where they were too large
    for a message, the payload reference is the key of an object that holds them. Times are unix seconds.
    """

    work_item_id: str
    request_id: str
    item_index: int
    total_items: int
    operation: Operation
    model_id: str
    profile_id: str
    pool_name: str
    admission_pool: str
    machine_profile: str
    router_id: str
    reply_subject: str
    timestamp: float
    bundle_config_hash: str
    item: Mapping[str, object] | None = None
    payload_ref: str | None = None
    query_item: Mapping[str, object] | None = None
    query_payload_ref: str | None = None
    score_items: tuple[Mapping[str, object], ...] | None = None
    output_types: tuple[str, ...] | None = None
    instruction: str | None = None
    is_query: bool = False
    options: Mapping[str, object] | None = None
    labels: tuple[str, ...] | None = None
    output_schema: Mapping[str, object] | None = None
    deadline: float | None = None
    accepts_result_chunks: bool = False
    traceparent: str | None = None
    tracestate: str | None = None


TRACE = frozenset({"traceparent", "tracestate"})
"""The only keys that are left out where there is nothing to say; all others are written as nil."""
_FIELDS = tuple(field.name for field in attrs.fields(WorkItem))
_VALUES = attrgetter(*_FIELDS)
_Written = msgspec.defstruct("_Written", [(name, object, UNSET) for name in _FIELDS])
_ENCODER = msgspec.msgpack.Encoder()


def encode_work(item: WorkItem) -> bytes:
    """Raises WireError where a client's value has no form in msgpack."""
    if not _is_plain(item):
        return _encoded(item)
    written = _Written(*_VALUES(item))
    for name in TRACE:
        if getattr(item, name) is None:
            setattr(written, name, UNSET)
    try:
        return _ENCODER.encode(written)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return _encoded(item)


def decode_work(data: bytes) -> WorkItem:
    """Raises WireError."""
    return structure(TOLERANT, unpack(data), WorkItem)


def _is_plain(item: WorkItem) -> bool:
    """All that a client may have written as it likes."""
    return (
        is_plain(item.item)
        and is_plain(item.options)
        and is_plain(item.query_item)
        and is_plain(item.output_schema)
        and (item.score_items is None or all(map(is_plain, item.score_items)))
    )


def _encoded(item: WorkItem) -> bytes:
    values = ((name, getattr(item, name)) for name in _FIELDS)
    return pack({name: value for name, value in values if value is not None or name not in TRACE})
