"""Where is the input of a work item (§16.2, wire-facts 2.2)? In it, in the payload store, or nowhere any more. Pure."""

from typing import TypeAlias

import attrs

from sie.domain.errors import ErrorCode
from sie.domain.ids import InvalidId
from sie.wire.converters import WireError
from sie.wire.payload import PayloadKey, attach, payload_key, ref_of
from sie.wire.work import WorkItem
from sie.worker.core.accept import Refuse


@attrs.frozen
class Carried:
    """The message has it, or nothing has."""


@attrs.frozen
class Fetch:
    key: PayloadKey


Whereabouts: TypeAlias = Carried | Fetch | Refuse


def judge_payload(work: WorkItem) -> Whereabouts:
    ref = ref_of(work)
    if ref is None:
        return Carried()
    try:
        return Fetch(payload_key(ref))
    except InvalidId as error:
        return Refuse(ErrorCode.INVALID_REQUEST, str(error))


def with_payload(work: WorkItem, payload: bytes | None) -> WorkItem | Refuse:
    """The work as if it had been sent whole; `payload` None where the store holds nothing under its key."""
    if payload is None:
        return unavailable("it is not in the payload store any more")
    try:
        return attach(work, payload)
    except WireError as error:
        return unavailable(f"it cannot be read: {error}")


def unavailable(why: str) -> Refuse:
    return Refuse(ErrorCode.PAYLOAD_UNAVAILABLE, f"the input was sent beside its message, and {why}")
