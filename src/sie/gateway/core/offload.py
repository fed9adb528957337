"""Does an item travel in its message, in the payload store, or not at all (§16.2)? By its size, before any publish.

A message that is too long for the broker costs the whole connection, so its headers and a margin count too. Whoever
acts puts `Offload.payload` under its key first, and asks again where the store would not take it.
"""

from typing import TypeAlias

import attrs

from sie.domain.errors import ErrorCode
from sie.wire.payload import MAX_OBJECT_BYTES, PayloadKey, detach
from sie.wire.work import WorkItem, encode_work

THRESHOLD_BYTES = 1024 * 1024
MARGIN_BYTES = 256
"""For what may still be added to the headers on the way, such as a trace's."""
ORPHAN_AGE_S = 24 * 3600.0 + 1800.0
"""No work names a payload any more that was put so long ago: it leaves the queue, then the dead letters (§8)."""


@attrs.frozen
class Inline:
    data: bytes


@attrs.frozen
class Offload:
    """`data` is the message once `payload` lies under `key`; `inline` the one that does without, where it fits too."""

    key: PayloadKey
    payload: bytes
    data: bytes
    inline: bytes | None


@attrs.frozen
class Refused:
    """Nothing of the request may be published."""

    code: ErrorCode
    message: str


Plan: TypeAlias = Inline | Offload | Refused


@attrs.frozen
class Room:
    """What the broker takes in a message, and how much of it the headers take; `has_store` where payloads may go."""

    max_payload: int
    header_bytes: int
    has_store: bool

    @property
    def most_bytes(self) -> int:
        return max(0, self.max_payload - self.header_bytes - MARGIN_BYTES)

    @property
    def inline_bytes(self) -> int:
        return min(self.most_bytes, max(0, THRESHOLD_BYTES - self.header_bytes - MARGIN_BYTES))


def plan_message(item: WorkItem, room: Room) -> Plan:
    """What is over the threshold goes inline all the same where there is no other way and the broker takes it.

    Raises WireError for an item that has no msgpack form.
    """
    whole = encode_work(item)
    return Inline(whole) if len(whole) <= room.inline_bytes else plan_large(item, whole, room)


def plan_large(item: WorkItem, whole: bytes, room: Room) -> Plan:
    """As `plan_message`, of an item whose message is over the threshold."""
    offload = _offload(item, whole, room) if room.has_store else None
    if offload is not None:
        return offload
    return Inline(whole) if len(whole) <= room.most_bytes else _too_large(item, len(whole), room)


def after_failed_put(plan: Offload, item_index: int) -> Inline | Refused:
    if plan.inline is not None:
        return Inline(plan.inline)
    message = f"the payload store did not take the {len(plan.payload)} bytes of item {item_index}"
    return Refused(ErrorCode.QUEUE_UNAVAILABLE, message)


def orphans_before_s(*, now_unix_s: float) -> float:
    """What was put before then belongs to no request, whichever router put it."""
    return now_unix_s - ORPHAN_AGE_S


def _offload(item: WorkItem, whole: bytes, room: Room) -> Offload | None:
    detached = detach(item)
    if detached is None:
        return None
    data = encode_work(detached.item)
    if len(detached.payload) > MAX_OBJECT_BYTES or len(data) > room.inline_bytes:
        return None
    return Offload(detached.key, detached.payload, data, whole if len(whole) <= room.most_bytes else None)


def _too_large(item: WorkItem, size_bytes: int, room: Room) -> Refused:
    beside = f" or {MAX_OBJECT_BYTES} beside it" if room.has_store else ""
    message = f"item {item.item_index} takes {size_bytes} bytes; at most {room.most_bytes} go in a message{beside}"
    return Refused(ErrorCode.PAYLOAD_TOO_LARGE, message)
