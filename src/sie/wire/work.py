"""One unit of work from a gateway to a worker (§16.2, wire-facts 2.2), as a msgpack map."""

from collections.abc import Mapping
from typing import Literal

import attrs

from sie.wire.codec import pack, unpack
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


def encode_work(item: WorkItem) -> bytes:
    """Raises WireError where a client's value has no form in msgpack."""
    values = ((name, getattr(item, name)) for name in _FIELDS)
    return pack({name: value for name, value in values if value is not None or name not in TRACE})


def decode_work(data: bytes) -> WorkItem:
    """Raises WireError."""
    return structure(TOLERANT, unpack(data), WorkItem)
