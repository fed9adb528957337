"""What is sent when a dead letter is replayed (§8, decisions)? The same work under new names, to one who listens.

It runs under whatever configuration its lane has now: the one that it was routed by may be what nobody had.
"""

from collections.abc import Mapping

import attrs

from sie.domain.ids import RequestId, RouterId
from sie.domain.subjects import lane_subject, result_subject
from sie.wire.codec import pack, unpack
from sie.wire.converters import WireError


@attrs.frozen
class Replay:
    """`reply` is where its result comes; a result too large for one message comes as an error."""

    subject: str
    data: bytes
    work_item_id: str
    reply: str


def plan_replay(
    subject: str, work: bytes, *, router: RouterId, request: RequestId, now_s: float, timeout_s: float
) -> Replay:
    """Nobody works on it after `timeout_s`. Keys that we do not know stay. Raises WireError."""
    item = unpack(work)
    if not isinstance(item, Mapping) or not isinstance(item.get("operation"), str):
        raise WireError.at(message="not a work item")
    index = item.get("item_index")
    work_item_id, reply = f"{request}.{index if isinstance(index, int) else 0}", result_subject(router, request)
    changed = {
        "work_item_id": work_item_id,
        "request_id": request,
        "router_id": router,
        "reply_subject": reply,
        "timestamp": now_s,
        "deadline": now_s + timeout_s,
        "bundle_config_hash": "",
        "accepts_result_chunks": False,
    }
    return Replay(lane_subject(subject), pack({**item, **changed}), work_item_id, reply)
