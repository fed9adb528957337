"""What the client is told when a request is over (§2, wire-facts 4.3): one table from the items' fates to an answer."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import attrs
import msgspec

from sie.domain.errors import ErrorCode
from sie.gateway.core.collect import Collected, Ending, GaveUp
from sie.wire.result import WorkResult

_NOTHING: Mapping[str, object] = {}
RETRYABLE = frozenset(
    {
        ErrorCode.RESOURCE_EXHAUSTED,
        ErrorCode.MODEL_LOADING,
        ErrorCode.LORA_LOADING,
        ErrorCode.PAYLOAD_UNAVAILABLE,
    }
)
"""Codes that a client tries again by itself, when every item failed with the same one (§2)."""
BAD_INPUT = frozenset({ErrorCode.INVALID_INPUT, ErrorCode.INPUT_TOO_LONG})
MAX_RETRY_AFTER_S = 60


class Answered(msgspec.Struct, frozen=True):
    """`blobs` are the successes in item order; `errors` the rest, for replies that have room for them."""

    blobs: tuple[bytes, ...]
    errors: tuple[Mapping[str, object], ...]
    results: tuple[WorkResult, ...]


@attrs.frozen
class Failed:
    """`extra` stands beside code and message in the envelope."""

    code: ErrorCode
    message: str
    extra: Mapping[str, object] = _NOTHING
    retry_after_s: int | None = None


Outcome: TypeAlias = Answered | Failed


def decide_outcome(ending: Ending | None, *, missing: int, timeout_s: float) -> Outcome:
    """`ending` None means that the request's time ran out with `missing` results still to come."""
    match ending:
        case None:
            message = f"no result for {missing} item(s) within {timeout_s:g} s of queueing them"
            return Failed(ErrorCode.GATEWAY_TIMEOUT, message)
        case GaveUp(code, message):
            return Failed(code, message)
        case Collected(results):
            return _of_results(results)


def _of_results(results: tuple[WorkResult, ...]) -> Outcome:
    blobs = tuple([r.result_msgpack for r in results if r.success and r.result_msgpack is not None])
    if len(blobs) == len(results):
        return Answered(blobs, (), results)
    failures = [result for result in results if not result.success or result.result_msgpack is None]
    return Answered(blobs, tuple(map(_error_row, failures)), results) if blobs else _all_failed(failures)


def _all_failed(failures: list[WorkResult]) -> Failed:
    codes = {failure.error_code for failure in failures}
    only = _known(codes.pop()) if len(codes) == 1 else None
    message = failures[0].error or "the item failed"
    if only in RETRYABLE:
        return Failed(only, message, retry_after_s=_retry_after_s(failures))
    if only in BAD_INPUT:
        return Failed(only, message, {"details": list(map(_error_row, failures))})
    if only is ErrorCode.MODEL_LOAD_FAILED:
        return Failed(only, message, _of_load(failures[0]))
    return Failed(ErrorCode.ALL_ITEMS_FAILED, "all_items_failed", {"details": list(map(_error_row, failures))})


def _of_load(failure: WorkResult) -> Mapping[str, object]:
    """A worker that does not say counts as sure of it: clients do not try such a model again (wire-facts 1.7)."""
    permanent = failure.permanent is not False
    return {
        "error_class": failure.error_class or "UNKNOWN",
        "attempts": max(1, failure.attempts or 1),
        "permanent": permanent,
    }


def _known(code: str | None) -> ErrorCode | None:
    return ErrorCode(code) if code in set(ErrorCode) else None


def _retry_after_s(failures: Iterable[WorkResult]) -> int | None:
    """A worker's own wait counts only where it is a sane one (§2)."""
    waits = [f.retry_after_s for f in failures if f.retry_after_s and 1 <= f.retry_after_s <= MAX_RETRY_AFTER_S]
    return max(waits) if waits else None


def _error_row(failure: WorkResult) -> Mapping[str, object]:
    row: dict[str, object] = {"item_index": failure.item_index, "error": failure.error or "the item failed"}
    return {**row, "code": failure.error_code} if failure.error_code else row
