"""What a worker and its backend child say to each other over their Unix socket: length-prefixed msgpack frames.

The parent sends LoadModel and EncodeBatch; the child answers each with Finished or Failed of the same id, and tells
what its models are doing in ModelUpdates as it happens. Sans-IO: `frame` and `FrameReader` turn messages into bytes.
"""

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from sie.domain.worker import ModelStateName
from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, WireError, structure

MAX_FRAME_BYTES = 256 * 1024 * 1024
"""A frame larger than any batch can be is a broken peer, not a batch."""
_PREFIX_BYTES = 4


@attrs.frozen(kw_only=True)
class LoadModel:
    """`loadtime` and `runtime` are the profile's adapter options (wire-facts 3.6)."""

    id: int
    serving_id: str
    adapter_path: str
    model_id: str
    hf_id: str | None = None
    hf_revision: str | None = None
    weights_path: str | None = None
    max_sequence_length: int | None = None
    loadtime: Mapping[str, object] = attrs.field(factory=dict)
    runtime: Mapping[str, object] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class EncodeItem:
    """One work item's input and tuning; `id` is the client's own and comes back in the result."""

    item: Mapping[str, object]
    output_types: tuple[str, ...] | None = None
    instruction: str | None = None
    is_query: bool = False
    options: Mapping[str, object] | None = None


@attrs.frozen(kw_only=True)
class EncodeBatch:
    id: int
    serving_id: str
    items: tuple[EncodeItem, ...]


@attrs.frozen(kw_only=True)
class Hello:
    """The child's first frame."""

    device: str
    pid: int


@attrs.frozen(kw_only=True)
class ModelUpdate:
    serving_id: str
    state: ModelStateName
    activity: str = ""
    error_code: str | None = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class ItemOutcome:
    """Either `result_msgpack`, one item of the reply (wire-facts 1.3), or a code with its words."""

    result_msgpack: bytes | None = None
    input_tokens: int = 0
    error_code: str | None = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class Finished:
    """`outcomes` in the order of the items; none for a load. Times in milliseconds for the whole batch."""

    id: int
    outcomes: tuple[ItemOutcome, ...] = ()
    tokenization_ms: float = 0.0
    inference_ms: float = 0.0
    postprocessing_ms: float = 0.0


@attrs.frozen(kw_only=True)
class Failed:
    """The whole request failed; `permanent` says that trying again cannot help."""

    id: int
    error_code: str
    error: str
    permanent: bool = True


Request: TypeAlias = LoadModel | EncodeBatch
Answer: TypeAlias = Hello | ModelUpdate | Finished | Failed
_KINDS: Mapping[str, type[Request | Answer]] = {
    kind.__name__: kind for kind in (LoadModel, EncodeBatch, Hello, ModelUpdate, Finished, Failed)
}


def frame(message: Request | Answer) -> bytes:
    """Raises ValueError over MAX_FRAME_BYTES."""
    body = pack({"kind": type(message).__name__, **TOLERANT.unstructure(message)})
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {len(body)} bytes exceeds {MAX_FRAME_BYTES}")
    return len(body).to_bytes(_PREFIX_BYTES, "big") + body


@attrs.define
class FrameReader:
    """Bytes in, in any pieces; whole messages out, in order."""

    _buffer: bytearray = attrs.field(factory=bytearray)

    def receive(self, data: bytes) -> list[Request | Answer]:
        """Raises WireError on a frame that is too long or no message; the connection is of no more use then."""
        self._buffer += data
        messages = []
        while (body := self._next_body()) is not None:
            messages.append(_decode(body))
        return messages

    def _next_body(self) -> bytes | None:
        if len(self._buffer) < _PREFIX_BYTES:
            return None
        size = int.from_bytes(self._buffer[:_PREFIX_BYTES], "big")
        if size > MAX_FRAME_BYTES:
            raise WireError.at(message=f"a frame of {size} bytes exceeds {MAX_FRAME_BYTES}")
        end = _PREFIX_BYTES + size
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_PREFIX_BYTES:end])
        del self._buffer[:end]
        return body


def _decode(body: bytes) -> Request | Answer:
    value = unpack(body)
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise WireError.at("kind", message=f"{kind!r} is no message of this protocol")
    return structure(TOLERANT, value, _KINDS[kind])
