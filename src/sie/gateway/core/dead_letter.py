"""What is to be done about a message that JetStream gave up (§8, §8.2)? `dispatch.dead_letters` does it.

An advisory names a sequence and no subject. What lies there now is the message it means only if it was there before the
advisory: a stream in memory that was lost counts from 1 again.
"""

import re
from typing import TypeAlias

import attrs

from sie.bus.stored_api import Stored
from sie.domain.errors import ErrorCode
from sie.domain.subjects import is_direct, is_work_stream
from sie.wire.converters import WireError
from sie.wire.dead_letter import Advisory, DeadLetter, dead_letter, decode_advisory
from sie.wire.result import WorkResult
from sie.wire.work import WorkItem, decode_work

MAX_REPLY_SUBJECT_BYTES = 512
_REPLY_SUBJECT = re.compile(r"_INBOX\.[^\s.*>\x00]+\.[^\s.*>\x00]+")


@attrs.frozen
class Answer:
    """For the gateway whose client waits, which may be another one."""

    subject: str
    result: WorkResult


@attrs.frozen
class Bury:
    """File the letter, then answer who waits, then delete the message from its stream."""

    letter: DeadLetter
    answer: Answer | None


@attrs.frozen
class Gone:
    """There is nothing to keep: another gateway was quicker, a worker acknowledged it after all, or it is too old."""


Verdict: TypeAlias = Bury | Gone


def read_advisory(data: bytes) -> Advisory | None:
    """None: it is about a stream that holds no work. Raises WireError."""
    advisory = decode_advisory(data)
    return advisory if is_work_stream(advisory.stream) else None


def judge_found(advisory: Advisory, found: Stored | None) -> Verdict:
    if found is None or found.at > advisory.at:
        return Gone()
    return Bury(dead_letter(advisory, found.subject, found.data), _answer(advisory, found))


def _answer(advisory: Advisory, found: Stored) -> Answer | None:
    try:
        item = decode_work(found.data)
    except WireError:
        return None
    subject = item.reply_subject
    if len(subject.encode("utf-8", "replace")) > MAX_REPLY_SUBJECT_BYTES or not _REPLY_SUBJECT.fullmatch(subject):
        return None
    return Answer(subject, _failure(advisory, item, is_direct=is_direct(found.subject)))


def _failure(advisory: Advisory, item: WorkItem, *, is_direct: bool) -> WorkResult:
    """Where direct work was sent to its pool, too, the failure of the one does not count (§8.2)."""
    tried = advisory.deliveries
    return WorkResult(
        work_item_id=item.work_item_id,
        request_id=item.request_id,
        item_index=item.item_index,
        success=False,
        error=f"no worker finished this item in {tried} deliveries; it is kept as a dead letter",
        error_code=ErrorCode.INFERENCE_ERROR,
        origin="direct" if is_direct else None,
    )
