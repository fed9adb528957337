"""One unit of work from a gateway to a worker (§16.2, wire-facts 2.2), as a msgpack map with every key written."""

from collections.abc import Mapping
from typing import Literal

import attrs

from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, structure

Operation = Literal["encode", "score", "extract"]


@attrs.frozen(kw_only=True)
class WorkItem:
    """`item` is the input as the client sent it; `timestamp` and `deadline` are unix seconds."""

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
    output_types: tuple[str, ...] | None = None
    instruction: str | None = None
    is_query: bool = False
    options: Mapping[str, object] | None = None
    deadline: float | None = None
    accepts_result_chunks: bool = False


def encode_work(item: WorkItem) -> bytes:
    return pack(TOLERANT.unstructure(item))


def decode_work(data: bytes) -> WorkItem:
    """Raises WireError."""
    return structure(TOLERANT, unpack(data), WorkItem)
