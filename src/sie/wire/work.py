"""One unit of work from a gateway to a worker (§16.2, wire-facts 2.2), as a msgpack map.

What is usual goes through msgspec, several times as quickly; whatever that does not take, or would write in other
bytes, goes the long way, and so do all errors.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Literal

import attrs
import msgspec

from sie.wire.codec import is_plain, pack, unpack
from sie.wire.converters import TOLERANT, structure

Operation = Literal["encode", "score", "extract"]


@attrs.frozen(kw_only=True, slots=False)
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
_ENCODER = msgspec.msgpack.Encoder()
_UNUSUAL = (ValueError, TypeError, OverflowError, RecursionError)


@attrs.frozen
class _Form:
    """Some keys of a work item. Its class is written in their order, as one of attrs is not."""

    values: Callable[[WorkItem], tuple[object, ...]]
    struct: type[msgspec.Struct]

    @classmethod
    def of(cls, *names: str) -> "_Form":
        return cls(attrgetter(*names), msgspec.defstruct("_Written", [(name, object) for name in names], gc=False))


_UNTRACED, _HALF_TRACED, _TRACED = _FIELDS[:-2], _FIELDS[:-1], _FIELDS
"""The trace is what comes last."""
_FORMS = {names: _Form.of(*names) for names in (_UNTRACED, _HALF_TRACED, _TRACED)}
_AT = _FIELDS.index("item")
"""Between the place and the input, and behind the input, stand fewer than 16 keys each, so that a map's head is one
byte; that of all keys is three.
"""
_MIDDLE = _Form.of(*_FIELDS[3:_AT])
_TAILS = {names: _Form.of(*names[_AT + 1 :]) for names in _FORMS}
_HEADS = {names: b"\xde" + len(names).to_bytes(2) + _ENCODER.encode("work_item_id") for names in _FORMS}
_PLACED, _INDEXED, _HELD = map(_ENCODER.encode, ("request_id", "item_index", "item"))


def encode_work(item: WorkItem) -> bytes:
    """Raises WireError where a client's value has no form in msgpack."""
    names = _usual(item)
    written = None if names is None else _written(_FORMS[names], item)
    return _encoded(item) if written is None else written


class Stencil(msgspec.Struct, frozen=True):
    """`encode_work` of many items that are as `first` but for their id, their place and their input.

    `cuts` is what stands around those three, where it can be made once for all.
    """

    first: WorkItem
    cuts: tuple[bytes, bytes, bytes, bytes] | None

    @classmethod
    def of(cls, first: WorkItem) -> "Stencil":
        names = _usual(first)
        if names is None:
            return cls(first, None)
        middle, tail = _written(_MIDDLE, first), _written(_TAILS[names], first)
        if middle is None or tail is None:
            return cls(first, None)
        request = _PLACED + _ENCODER.encode(first.request_id) + _INDEXED
        return cls(first, (_HEADS[names], request, middle[1:] + _HELD, tail[1:]))

    def item(self, work_item_id: str, index: int, item: Mapping[str, object] | None) -> WorkItem:
        return attrs.evolve(self.first, work_item_id=work_item_id, item_index=index, item=item)

    def encode(self, work_item_id: str, index: int, item: Mapping[str, object] | None) -> bytes:
        """Raises WireError."""
        if self.cuts is None or not is_plain(item):
            return encode_work(self.item(work_item_id, index, item))
        head, request, middle, tail = self.cuts
        pack_one = _ENCODER.encode
        try:
            return b"".join((head, pack_one(work_item_id), request, pack_one(index), middle, pack_one(item), tail))
        except _UNUSUAL:
            return encode_work(self.item(work_item_id, index, item))


def decode_work(data: bytes) -> WorkItem:
    """Raises WireError."""
    return structure(TOLERANT, unpack(data), WorkItem)


def _usual(item: WorkItem) -> tuple[str, ...] | None:
    """The keys that are written, where msgspec writes what msgpack would."""
    if not _is_plain(item):
        return None
    if item.traceparent is None:
        return _UNTRACED if item.tracestate is None else None
    return _HALF_TRACED if item.tracestate is None else _TRACED


def _written(form: _Form, item: WorkItem) -> bytes | None:
    try:
        return _ENCODER.encode(form.struct(*form.values(item)))
    except _UNUSUAL:
        return None


def _is_plain(item: WorkItem) -> bool:
    """All that a client may have written as it likes."""
    return (
        (item.item is None or is_plain(item.item))
        and (item.options is None or is_plain(item.options))
        and (item.query_item is None or is_plain(item.query_item))
        and (item.output_schema is None or is_plain(item.output_schema))
        and (item.score_items is None or all(map(is_plain, item.score_items)))
    )


def _encoded(item: WorkItem) -> bytes:
    values = ((name, getattr(item, name)) for name in _FIELDS)
    return pack({name: value for name, value in values if value is not None or name not in TRACE})
