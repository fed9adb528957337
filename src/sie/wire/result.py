"""What became of one unit of work, from a worker to the gateway that asked (§16.2, wire-facts 2.3)."""

from collections.abc import Mapping
from typing import Literal

import attrs
import msgspec

from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, structure


@attrs.frozen(kw_only=True, slots=False)
class WorkResult:
    """`result_msgpack` is the finished item of the reply (wire-facts 1.3), spliced in unread. Times in milliseconds.

    `origin` tells work that came to this worker by name (§8.2, decisions). Of a load that failed, `error_class`,
    `attempts` and `permanent` are what its error tells a client beside the code (wire-facts 1.7).
    """

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
    origin: Literal["direct"] | None = None
    error_class: str | None = None
    attempts: int | None = None
    permanent: bool | None = None


_FIELDS = tuple(field.name for field in attrs.fields(WorkResult))
_DECODER = msgspec.msgpack.Decoder(WorkResult)


def encode_result(result: WorkResult) -> bytes:
    values = ((name, getattr(result, name)) for name in _FIELDS)
    return pack({name: value for name, value in values if value is not None})


def decode_result(data: bytes) -> WorkResult:
    """Raises WireError."""
    usual = decode_usual_result(data)
    return structure(TOLERANT, unpack(data), WorkResult) if usual is None else usual


def decode_usual_result(data: bytes) -> WorkResult | None:
    """At a fraction of the cost; None is for the long way, which takes more or says what is wrong."""
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, ValueError):
        return None
