"""What does the gateway get for one item (§16.2, wire-facts 2.3)? Results and errors as the wire wants them."""

from collections.abc import Mapping
from typing import Literal

import attrs

from sie.domain.errors import ERRORS, ErrorCode
from sie.domain.ids import WorkerId
from sie.wire.ipc import EncodeItem, Failed, Finished, ItemOutcome
from sie.wire.result import WorkResult
from sie.wire.work import WorkItem
from sie.worker.core.accept import Caller
from sie.worker.core.cooldowns import LoadFailure

MAX_MESSAGE_CHARS = 2000
"""An error's words fit any message the broker takes."""
_CODES = {code.value: code for code in ErrorCode}


@attrs.frozen
class Course:
    """Whose hands an item went through, and how long that took; milliseconds. No fetch where it carried its input.

    `is_direct`: it is held by its delivery from the worker's own queue (§8.2).
    """

    worker: WorkerId
    config_hash: str
    queue_ms: float
    processing_ms: float
    payload_fetch_ms: float | None = None
    is_direct: bool = False

    @property
    def origin(self) -> Literal["direct"] | None:
        return "direct" if self.is_direct else None


def encode_item(work: WorkItem) -> EncodeItem:
    """As the backend is to run it, whatever the operation."""
    return EncodeItem(
        item=_input_of(work),
        output_types=work.output_types,
        instruction=work.instruction,
        is_query=work.is_query,
        options=work.options,
        operation=work.operation,
        candidates=work.score_items,
        labels=work.labels,
        output_schema=work.output_schema,
    )


def _input_of(work: WorkItem) -> Mapping[str, object]:
    """What is extracted always has an id; it is the item's place in its request where a client gave none."""
    if work.operation == "score":
        return work.query_item or {}
    item = work.item or {}
    named = work.operation != "extract" or isinstance(item.get("id"), str)
    return item if named else {**item, "id": f"item-{work.item_index}"}


def outcomes_of(answer: Finished | Failed, count: int) -> tuple[ItemOutcome, ...]:
    """One for each of the `count` items of a batch, whatever the backend answered."""
    if isinstance(answer, Finished) and len(answer.outcomes) == count:
        return answer.outcomes
    if isinstance(answer, Finished):
        seen = len(answer.outcomes)
        failed = ItemOutcome(error_code=ErrorCode.INTERNAL_ERROR, error=f"{seen} outcomes came for {count} items")
        return (failed,) * count
    return (ItemOutcome(error_code=answer.error_code, error=answer.error),) * count


def result_of(caller: Caller, outcome: ItemOutcome, answer: Finished | Failed, course: Course) -> WorkResult:
    """The result of an item that went to the backend."""
    if outcome.result_msgpack is None:
        code = _CODES.get(outcome.error_code or "", ErrorCode.INFERENCE_ERROR)
        return error_of(caller, code, outcome.error or "the backend gave no result", course)
    times = answer if isinstance(answer, Finished) else Finished(id=answer.id)
    return WorkResult(
        work_item_id=caller.work_item_id,
        request_id=caller.request_id,
        item_index=caller.item_index,
        success=True,
        result_msgpack=outcome.result_msgpack,
        inference_ms=times.inference_ms,
        tokenization_ms=times.tokenization_ms,
        postprocessing_ms=times.postprocessing_ms,
        queue_ms=course.queue_ms,
        processing_ms=course.processing_ms,
        payload_fetch_ms=course.payload_fetch_ms,
        worker_id=course.worker,
        units={"input_tokens": outcome.input_tokens},
        executed_bundle_config_hash=course.config_hash or None,
        origin=course.origin,
    )


def error_of(
    caller: Caller,
    code: ErrorCode,
    message: str,
    course: Course,
    *,
    retry_after_s: int | None = None,
    load: LoadFailure | None = None,
) -> WorkResult:
    return WorkResult(
        work_item_id=caller.work_item_id,
        request_id=caller.request_id,
        item_index=caller.item_index,
        success=False,
        error=message[:MAX_MESSAGE_CHARS],
        error_code=code,
        queue_ms=course.queue_ms,
        processing_ms=course.processing_ms,
        payload_fetch_ms=course.payload_fetch_ms,
        worker_id=course.worker,
        retry_after_s=ERRORS[code].retry_after_s if retry_after_s is None else retry_after_s,
        origin=course.origin,
        error_class=load.error_class if load else None,
        attempts=load.attempts if load else None,
        permanent=load.permanent if load else None,
    )


def too_large(result: WorkResult, *, size_bytes: int, max_bytes: int) -> WorkResult:
    """What is sent in place of a result that cannot be carried to the gateway."""
    return attrs.evolve(
        result,
        success=False,
        result_msgpack=None,
        units=None,
        error=f"the result is {size_bytes} bytes long, and at most {max_bytes} can be sent",
        error_code=ErrorCode.PAYLOAD_TOO_LARGE,
    )
