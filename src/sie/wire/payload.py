"""Inputs that are too long for a message lie in the payload store (§16.2, wire-facts 2.2): under which key, and how?

A key is bare, for every store alike, and begins with its router: what a router left behind is found by listing. Keys of
older gateways do not, and can be read all the same.
"""

import re
from collections.abc import Mapping
from typing import NewType

import attrs

from sie.domain.ids import InvalidId, RequestId, RouterId
from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, structure
from sie.wire.work import WorkItem

PayloadKey = NewType("PayloadKey", str)

MAX_OBJECT_BYTES = 64 * 1024 * 1024
"""A body of 34 MiB holds no input that is longer, unless it is numbers written short in JSON."""

_KEY = re.compile(r"(?!\.)(?!.*\.\.)[A-Za-z0-9._-]{1,200}")
_OURS = re.compile(r"(?P<router>[A-Za-z0-9_-]{1,128})\.[A-Za-z0-9_-]+_[a-z0-9]+\.bin")


def payload_key(text: str) -> PayloadKey:
    """Leads nowhere but under the store's root. Raises InvalidId."""
    if not _KEY.fullmatch(text):
        raise InvalidId("payload key", text, "must be 1 to 200 of [A-Za-z0-9._-] with no leading dot and no '..'")
    return PayloadKey(text)


def item_key(router: RouterId, request: RequestId, item_index: int) -> PayloadKey:
    return payload_key(f"{router}.{request}_{item_index}.bin")


def router_of(key: str) -> RouterId | None:
    """None: no gateway of ours named it so."""
    match = _OURS.fullmatch(key)
    return RouterId(match["router"]) if match else None


def score_key(router: RouterId, request: RequestId) -> PayloadKey:
    """Query and items of a score are one object."""
    return payload_key(f"{router}.{request}_score.bin")


@attrs.frozen
class Detached:
    """`item` names the input that `payload` holds; it is what goes on the bus."""

    key: PayloadKey
    payload: bytes
    item: WorkItem


@attrs.frozen(kw_only=True)
class _ScoreInput:
    query: Mapping[str, object]
    items: tuple[Mapping[str, object], ...]


@attrs.frozen(kw_only=True)
class _ItemInput:
    item: Mapping[str, object]


def detach(work: WorkItem) -> Detached | None:
    """None where the work holds no input. Raises WireError for one that has no msgpack form."""
    router, request = RouterId(work.router_id), RequestId(work.request_id)
    if work.item is not None:
        key = item_key(router, request, work.item_index)
        return Detached(key, pack(work.item), attrs.evolve(work, item=None, payload_ref=key))
    if work.query_item is not None and work.score_items is not None:
        key = score_key(router, request)
        payload = pack({"query": work.query_item, "items": work.score_items})
        return Detached(key, payload, attrs.evolve(work, query_item=None, score_items=None, query_payload_ref=key))
    return None


def ref_of(work: WorkItem) -> str | None:
    """The key of an input that the work does not hold, as the wire has it."""
    if work.item is None and work.payload_ref is not None:
        return work.payload_ref
    return work.query_payload_ref if work.query_item is None and work.score_items is None else None


def attach(work: WorkItem, payload: bytes) -> WorkItem:
    """The work as it was before `detach`. Raises WireError."""
    value = unpack(payload)
    if work.payload_ref is not None:
        found = structure(TOLERANT, {"item": value}, _ItemInput)
        return attrs.evolve(work, item=found.item, payload_ref=None)
    score = structure(TOLERANT, value, _ScoreInput)
    return attrs.evolve(work, query_item=score.query, score_items=score.items, query_payload_ref=None)
