"""What a worker and its backend child say to each other over their Unix socket: length-prefixed msgpack frames.

The parent sends LoadModel, UnloadModel and EncodeBatch; the child answers each with Finished or Failed of the same id,
and tells what its models are doing in ModelUpdates as it happens. Sans-IO: `frame` and `FrameReader` turn messages into
bytes.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TypeAlias

import attrs
import msgspec

from sie.domain.worker import ModelStateName
from sie.wire.codec import is_plain, pack, unpack
from sie.wire.converters import TOLERANT, WireError, structure
from sie.wire.work import Operation

MAX_FRAME_BYTES = 256 * 1024 * 1024
"""A frame larger than any batch can be is a broken peer, not a batch."""
READ_BYTES = 128 * 1024
"""To be asked of the socket at a time: a batch of texts, or its answer, in one piece."""
_PREFIX_BYTES = 4


@attrs.frozen(kw_only=True)
class LoadModel:
    """`loadtime` and `runtime` are the profile's adapter options (wire-facts 3.6).

    `room_bytes` is the memory that the model may take, None where nothing limits it: a child that finds out that the
    model takes more refuses it before it is in memory.
    """

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
    room_bytes: int | None = None


@attrs.frozen(kw_only=True)
class UnloadModel:
    """Nothing that runs needs the model. Unloading one that is not there is no failure."""

    id: int
    serving_id: str


class EncodeItem(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One work item's input and tuning; `id` is the client's own and comes back in the result.

    `operation` is the same for all of a batch. Of a score `item` is the query, and `candidates` are to be ranked by it.
    This and ItemOutcome are Structs, and arrays in a frame, because there are as many as items: they are read at half
    the cost.
    """

    item: Mapping[str, object]
    output_types: tuple[str, ...] | None = None
    instruction: str | None = None
    is_query: bool = False
    options: Mapping[str, object] | None = None
    operation: Operation = "encode"
    candidates: tuple[Mapping[str, object], ...] | None = None
    labels: tuple[str, ...] | None = None
    output_schema: Mapping[str, object] | None = None


@attrs.frozen(kw_only=True)
class EncodeBatch:
    id: int
    serving_id: str
    items: tuple[EncodeItem, ...]


@attrs.frozen(kw_only=True)
class Hello:
    """The child's first frame. `memory_bytes` is what its device has in all, 0 where that is not known yet.

    `number` says which of its children a worker means by it; that is for the worker to set.
    """

    device: str
    pid: int
    memory_bytes: int = 0
    number: int = 0


@attrs.frozen(kw_only=True)
class ModelUpdate:
    serving_id: str
    state: ModelStateName
    activity: str = ""
    error_code: str | None = None
    error: str | None = None


class ItemOutcome(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """Either `result_msgpack`, one item of the reply (wire-facts 1.3), or a code with its words."""

    result_msgpack: bytes | None = None
    input_tokens: int = 0
    error_code: str | None = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class Finished:
    """`outcomes` in the order of the items; none for a load. Times in milliseconds for the whole batch.

    Of a load: `memory_bytes` is what the model takes, `device_bytes` what the device has in all; 0 is not known.
    """

    id: int
    outcomes: tuple[ItemOutcome, ...] = ()
    tokenization_ms: float = 0.0
    inference_ms: float = 0.0
    postprocessing_ms: float = 0.0
    memory_bytes: int = 0
    device_bytes: int = 0


@attrs.frozen(kw_only=True)
class Failed:
    """The whole request failed; `permanent` says that trying again cannot help.

    Of a load: `error_class` is one of wire-facts 1.7; `memory_bytes` is what the model takes where it was refused for
    taking more than its `room_bytes`, else 0.
    """

    id: int
    error_code: str
    error: str
    permanent: bool = True
    error_class: str | None = None
    memory_bytes: int = 0


Request: TypeAlias = LoadModel | UnloadModel | EncodeBatch
Answer: TypeAlias = Hello | ModelUpdate | Finished | Failed
_KINDS: Mapping[str, type[Request | Answer]] = {
    kind.__name__: kind for kind in (LoadModel, UnloadModel, EncodeBatch, Hello, ModelUpdate, Finished, Failed)
}


_ENCODER = msgspec.msgpack.Encoder()
_TUNING = attrgetter("options", "candidates", "output_schema")
_UNTUNED = (None, None, None)
_SCALARS = frozenset({str, int, float, bool, bytes, type(None)})
_Many: TypeAlias = EncodeBatch | Finished
"""What there is one of for each batch, and goes the short way, through msgspec. All that this does not take, or would
write otherwise, goes the long way, and so do all other messages.
"""
_Written = {
    kind: msgspec.defstruct(f"_{kind.__name__}", [("kind", str), *((f.name, object) for f in attrs.fields(kind))])
    for kind in (EncodeBatch, Finished)
}
_VALUES = {kind: attrgetter(*(field.name for field in attrs.fields(kind))) for kind in (EncodeBatch, Finished)}
_READ: Mapping[bytes, msgspec.msgpack.Decoder[EncodeBatch] | msgspec.msgpack.Decoder[Finished]] = {
    pack("kind") + pack("EncodeBatch"): msgspec.msgpack.Decoder(EncodeBatch),
    pack("kind") + pack("Finished"): msgspec.msgpack.Decoder(Finished),
}
"""By how the map of a message goes on behind its length."""


def frame(message: Request | Answer) -> bytes:
    """Raises ValueError over MAX_FRAME_BYTES."""
    body = _usual_body(message) if isinstance(message, _Many) else None
    if body is None:
        body = pack({"kind": type(message).__name__, **_mapped(message)})
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {len(body)} bytes exceeds {MAX_FRAME_BYTES}")
    return len(body).to_bytes(_PREFIX_BYTES, "big") + body


@attrs.define
class FrameReader:
    """Bytes in, in any pieces; whole messages out, in order. Pieces are put together once there are enough of them."""

    _pieces: list[bytes] = attrs.field(factory=list)
    _held: int = 0
    _wanted: int = _PREFIX_BYTES

    def receive(self, data: bytes) -> list[Request | Answer]:
        """Raises WireError on a frame that is too long or no message; the connection is of no more use then."""
        self._pieces.append(data)
        self._held += len(data)
        if self._held < self._wanted:
            return []
        whole = data if len(self._pieces) == 1 else b"".join(self._pieces)
        messages, began = list[Request | Answer](), 0
        while (end := _end(whole, began)) <= len(whole):
            messages.append(_decode(whole, began + _PREFIX_BYTES, end))
            began = end
        self._pieces, self._held, self._wanted = [whole[began:]], len(whole) - began, end - began
        return messages


def _end(whole: bytes, began: int) -> int:
    """Of the frame that begins there, or of its prefix while that is not whole."""
    body = began + _PREFIX_BYTES
    if len(whole) < body:
        return body
    size = int.from_bytes(whole[began:body], "big")
    if size > MAX_FRAME_BYTES:
        raise WireError.at(message=f"a frame of {size} bytes exceeds {MAX_FRAME_BYTES}")
    return body + size


def _usual_body(message: _Many) -> bytes | None:
    """None: it has to go the long way."""
    kind = type(message)
    if isinstance(message, EncodeBatch) and not _are_plain(message.items):
        return None
    try:
        return _ENCODER.encode(_Written[kind](kind.__name__, *_VALUES[kind](message)))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def _are_plain(items: Sequence[EncodeItem]) -> bool:
    """All that clients may have written as they like has one form in every library."""
    values = chain.from_iterable([item.item.values() for item in items])
    are_flat = list(map(_TUNING, items)).count(_UNTUNED) == len(items) and _SCALARS.issuperset(map(type, values))
    return are_flat or all(map(_is_plain, items))


def _is_plain(item: EncodeItem) -> bool:
    maps = (item.item, item.options, item.output_schema, *(item.candidates or ()))
    return all(one is None or is_plain(one) for one in maps)


def _mapped(message: Request | Answer) -> Mapping[str, object]:
    match message:
        case EncodeBatch(items=many) | Finished(outcomes=many):
            name = "items" if isinstance(message, EncodeBatch) else "outcomes"
            rest = attrs.asdict(message, recurse=False)
            return {**rest, name: [[getattr(one, key) for key in one.__struct_fields__] for one in many]}
        case _:
            mapped: Mapping[str, object] = TOLERANT.unstructure(message)
            return mapped


def _decode(whole: bytes, began: int, end: int) -> Request | Answer:
    for head, decoder in _READ.items():
        if whole.startswith(head, began + 1, end):
            try:
                return decoder.decode(memoryview(whole)[began:end])
            except (msgspec.MsgspecError, ValueError, RecursionError):
                break
    return _structured(unpack(whole[began:end]))


def _structured(value: object) -> Request | Answer:
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise WireError.at("kind", message=f"{kind!r} is no message of this protocol")
    if _KINDS[kind] not in _VALUES:
        return structure(TOLERANT, value, _KINDS[kind])
    try:
        return msgspec.convert(value, _KINDS[kind])
    except msgspec.ValidationError as error:
        raise WireError.at(message=str(error)) from error
