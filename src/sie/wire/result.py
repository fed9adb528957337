"""What became of one unit of work, from a worker to the gateway that asked (§16.2, wire-facts 2.3)."""

from collections.abc import Mapping

import attrs

from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, structure


@attrs.frozen(kw_only=True)
class WorkResult:
    """`result_msgpack` is the finished item of the reply (wire-facts 1.3), spliced in unread. Times in milliseconds."""

    work_item_id: str
    request_id: str
    item_index: int
    success: bool
    result_msgpack: bytes | None = None
    error: str | None = None
    error_code: str | None = None
    inference_ms: float | None = None
    queue_ms: float | None = None
    processing_ms: float | None = None
    tokenization_ms: float | None = None
    postprocessing_ms: float | None = None
    payload_fetch_ms: float | None = None
    worker_id: str | None = None
    units: Mapping[str, int] | None = None
    executed_bundle_config_hash: str | None = None
    retry_after_s: int | None = None


def encode_result(result: WorkResult) -> bytes:
    return pack({key: value for key, value in TOLERANT.unstructure(result).items() if value is not None})


def decode_result(data: bytes) -> WorkResult:
    """Raises WireError."""
    return structure(TOLERANT, unpack(data), WorkResult)
