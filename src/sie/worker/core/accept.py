"""What is to be done with one delivery (§2, §16.2)? Read, then judged against what this worker serves now.

The hash comes before the name: under another configuration than the gateway's, an unknown name may just be new. So does
the pool: whether a name may be asked for is told by those that the pool assigns.
"""

import re
from collections.abc import Mapping
from typing import TypeAlias

import attrs

from sie.domain.errors import ErrorCode
from sie.domain.ids import DEFAULT_PROFILE
from sie.domain.lane import Lane
from sie.domain.model import Model
from sie.domain.registry import RegistrySnapshot
from sie.wire.codec import unpack
from sie.wire.converters import WireError
from sie.wire.payload import ref_of
from sie.wire.work import Operation, WorkItem, decode_work
from sie.worker.core.gate import Admitted, Standing

HASH_NAK_S = 5.0
"""Time for this worker, or another of the lane, to reach the configuration that the gateway routed by."""
POOL_NAK_S = 5.0
"""Time for a worker that the pool assigns to take it, or for this one to hear that it is assigned."""
MAX_REPLY_SUBJECT_BYTES = 512
_REPLY_SUBJECT = re.compile(r"_INBOX(\.[^\s.*>\x00]+)+")


@attrs.frozen
class Garbled:
    """No work item. `answer_to` is whoever can still be told, where that much could be read."""

    problem: str
    answer_to: "Caller | None" = None


@attrs.frozen
class Caller:
    """What a result needs to reach the gateway that asked."""

    work_item_id: str
    request_id: str
    item_index: int
    reply_subject: str


@attrs.frozen
class Run:
    serving_id: str


@attrs.frozen
class AckDrop:
    """Nobody waits for it any more."""

    reason: str


@attrs.frozen
class Refuse:
    """It cannot be run here now or later; the caller is told."""

    code: ErrorCode
    message: str


@attrs.frozen
class Nak:
    delay_s: float
    reason: str


Verdict: TypeAlias = Run | AckDrop | Refuse | Nak


def read_delivery(data: bytes) -> WorkItem | Garbled:
    try:
        item = decode_work(data)
    except WireError as error:
        return Garbled(str(error), _caller_of(data))
    if not is_reply_subject(item.reply_subject):
        return Garbled(f"reply_subject {item.reply_subject!r} is no inbox")
    return item


def caller(item: WorkItem) -> Caller:
    return Caller(item.work_item_id, item.request_id, item.item_index, item.reply_subject)


def is_reply_subject(subject: str) -> bool:
    """A worker publishes results to inboxes alone, whatever a work item asks for."""
    return len(subject.encode()) <= MAX_REPLY_SUBJECT_BYTES and _REPLY_SUBJECT.fullmatch(subject) is not None


def is_expired(item: WorkItem, *, now_s: float) -> bool:
    return item.deadline is not None and now_s >= item.deadline


def judge_delivery(
    item: WorkItem,
    snapshot: RegistrySnapshot,
    lane: Lane,
    standing: Standing,
    *,
    is_cancelled: bool,
    now_s: float,
) -> Verdict:
    """`standing` is this worker's in the pool that admitted the item; `now_s` is unix time."""
    if is_cancelled:
        return AckDrop("it was cancelled")
    if is_expired(item, now_s=now_s):
        return AckDrop("its deadline has passed")
    ours = snapshot.scoped_hash(lane.bundle, lane.pool) or ""
    if item.bundle_config_hash not in ("", ours):
        return Nak(HASH_NAK_S, f"it was routed by configuration {item.bundle_config_hash:.12}, ours is {ours:.12}")
    if not isinstance(standing, Admitted):
        return Nak(POOL_NAK_S, standing.reason)
    return _judge_work(item, snapshot, lane)


def _judge_work(item: WorkItem, snapshot: RegistrySnapshot, lane: Lane) -> Verdict:
    name = asked_name(item)
    found = snapshot.find(name)
    if found is None or lane.bundle not in found.bundles:
        return Refuse(ErrorCode.MODEL_NOT_FOUND, f"no model {name!r} is served in lane {lane}")
    serving_id = found.model.serving_id(found.profile)
    problem = _undoable(item.operation, serving_id, found.model) or judge_input(item, found.model)
    return problem or Run(serving_id)


def judge_input(item: WorkItem, model: Model) -> Refuse | None:
    """What an item lacks is told before a model is loaded for it, once its input is here."""
    if ref_of(item) is not None:
        return None
    inputs = inputs_of(item)
    if not inputs:
        return Refuse(ErrorCode.INVALID_INPUT, "the work item carries no input")
    for one in inputs if model.inputs == ("text",) else ():
        if not isinstance(one.get("text"), str):
            found = ", ".join(map(repr, one)) or "nothing"
            return Refuse(ErrorCode.INVALID_INPUT, f"{model.sie_id} reads a string under 'text'; the item has {found}")
    return None


def inputs_of(item: WorkItem) -> tuple[Mapping[str, object], ...]:
    """All that a model is to read for it; of a score the query comes first. Empty where something is not there."""
    if item.operation != "score":
        return () if item.item is None else (item.item,)
    return () if item.query_item is None or item.score_items is None else (item.query_item, *item.score_items)


def _undoable(operation: Operation, serving_id: str, model: Model) -> Refuse | None:
    does = tuple(name for name, can in _abilities(model) if can)
    if operation not in does:
        return Refuse(ErrorCode.INVALID_INPUT, f"{serving_id} does not {operation}; it does {' and '.join(does)}")
    return None


def _abilities(model: Model) -> tuple[tuple[Operation, bool], ...]:
    """A model whose configuration names no task is taken for one that encodes."""
    encodes = bool(model.encode_dims) or not (model.scores or model.extracts)
    return (("encode", encodes), ("score", model.scores), ("extract", model.extracts))


def asked_name(item: WorkItem) -> str:
    """The serving id that an item asks for: `model_id` may carry the profile itself."""
    default = item.profile_id in ("", DEFAULT_PROFILE) or ":" in item.model_id
    return item.model_id if default else f"{item.model_id}:{item.profile_id}"


def _caller_of(data: bytes) -> Caller | None:
    try:
        value = unpack(data)
    except WireError:
        return None
    if not isinstance(value, Mapping):
        return None
    match value:
        case {
            "work_item_id": str(work_item_id),
            "request_id": str(request_id),
            "item_index": int(index),
            "reply_subject": str(subject),
        } if is_reply_subject(subject) and not isinstance(index, bool):
            return Caller(work_item_id, request_id, index, subject)
        case _:
            return None
