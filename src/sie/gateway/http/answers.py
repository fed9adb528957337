"""What a client is told of results (§16.2, wire-facts 1.3, 1.6 and 4.2): the reply's form, its times and its units."""

from collections.abc import Iterable
from typing import Protocol

import attrs

from sie.domain.bundle_hash import BundleHash
from sie.gateway.core.outcome import Answered
from sie.gateway.dispatch.dispatcher import Ended
from sie.web.bodies import JSON_TYPE, MSGPACK_TYPE, Format
from sie.web.routes import Headers, Reply
from sie.wire.replies import json_items_reply, json_scores_reply, msgpack_items_reply, msgpack_scores_reply
from sie.wire.result import WorkResult

UNITS = {
    "input_tokens": "X-SIE-Units-Input-Tokens",
    "content_input_tokens": "X-SIE-Units-Content-Input-Tokens",
    "output_tokens": "X-SIE-Units-Output-Tokens",
    "pairs": "X-SIE-Units-Pairs",
    "images": "X-SIE-Units-Images",
    "pages": "X-SIE-Units-Pages",
    "audio_ms": "X-SIE-Units-Audio-Ms",
}


class Form(Protocol):
    """How results become a body."""

    def __call__(self, kind: Format, model: str, answered: Answered, headers: Headers, /) -> Reply: ...


def items_reply(kind: Format, model: str, answered: Answered, headers: Headers) -> Reply:
    """Of the items that succeeded, in order, and beside them the errors of those that did not."""
    if kind == "json":
        return Reply(200, json_items_reply(model, answered.blobs, answered.errors), JSON_TYPE, headers)
    body = msgpack_items_reply(model, answered.blobs, answered.errors)
    return Reply(200, body, MSGPACK_TYPE, headers)


def scores_reply(kind: Format, model: str, answered: Answered, headers: Headers) -> Reply:
    if kind == "json":
        return Reply(200, json_scores_reply(model, answered.blobs[0]), JSON_TYPE, headers)
    return Reply(200, msgpack_scores_reply(model, answered.blobs[0]), MSGPACK_TYPE, headers)


def headers_of(ended: Ended, results: tuple[WorkResult, ...], expected: BundleHash, total_s: float) -> Headers:
    """Times are those of the slowest item, in milliseconds with one decimal."""
    slowest = _slowest(results)
    return (
        *_worker(results),
        *_revision(results, expected),
        ("X-Queue-Publish-Time", f"{ended.publish_s * 1000:.1f}"),
        ("X-Queue-Wait-Time", f"{ended.wait_s * 1000:.1f}"),
        ("X-Queue-Time", f"{slowest.queue_ms:.1f}"),
        ("X-Inference-Time", f"{slowest.inference_ms:.1f}"),
        *_if_any("X-Tokenization-Time", slowest.tokenization_ms),
        *_if_any("X-Postprocessing-Time", slowest.postprocessing_ms),
        *_if_any("X-Payload-Fetch-Time", slowest.payload_fetch_ms),
        ("X-Total-Time", f"{total_s * 1000:.1f}"),
        *_units(results),
    )


@attrs.define
class _Slowest:
    """Of each time the longest that an item took."""

    queue_ms: float = 0.0
    inference_ms: float = 0.0
    tokenization_ms: float = 0.0
    postprocessing_ms: float = 0.0
    payload_fetch_ms: float = 0.0


def _slowest(results: Iterable[WorkResult]) -> _Slowest:
    found = _Slowest()
    for result in results:
        if result.queue_ms is not None and result.queue_ms > found.queue_ms:
            found.queue_ms = result.queue_ms
        if result.inference_ms is not None and result.inference_ms > found.inference_ms:
            found.inference_ms = result.inference_ms
        if result.tokenization_ms is not None and result.tokenization_ms > found.tokenization_ms:
            found.tokenization_ms = result.tokenization_ms
        if result.postprocessing_ms is not None and result.postprocessing_ms > found.postprocessing_ms:
            found.postprocessing_ms = result.postprocessing_ms
        if result.payload_fetch_ms is not None and result.payload_fetch_ms > found.payload_fetch_ms:
            found.payload_fetch_ms = result.payload_fetch_ms
    return found


def _if_any(name: str, worst_ms: float) -> Headers:
    return ((name, f"{worst_ms:.1f}"),) if worst_ms > 0 else ()


def _worker(results: Iterable[WorkResult]) -> Headers:
    """The first that is named."""
    for result in results:
        if result.worker_id:
            return (("X-SIE-Worker", result.worker_id),)
    return ()


def _revision(results: Iterable[WorkResult], expected: BundleHash) -> Headers:
    """Only where all that was answered was run by the configuration that the request was routed by (§2)."""
    executed = {result.executed_bundle_config_hash for result in results if result.success}
    return (("X-SIE-Model-Revision", expected),) if expected and executed == {expected} else ()


def _units(results: Iterable[WorkResult]) -> Headers:
    sums: dict[str, int] = {}
    for result in results:
        if result.units:
            for unit, count in result.units.items():
                sums[unit] = sums.get(unit, 0) + count
    return tuple([(UNITS[unit], str(count)) for unit, count in sums.items() if unit in UNITS and count >= 0])
