"""What a client is told of results (§16.2, wire-facts 1.3, 1.6 and 4.2): the reply's form, its times and its units."""

from collections.abc import Iterable
from typing import Protocol

from sie.domain.bundle_hash import BundleHash
from sie.gateway.core.outcome import Answered
from sie.gateway.dispatch.dispatcher import Ended
from sie.web.bodies import MSGPACK_TYPE, Format, write_body
from sie.web.routes import Headers, Reply
from sie.wire.replies import json_items_reply, json_scores_reply, msgpack_items_reply, msgpack_scores_reply
from sie.wire.result import WorkResult

ALWAYS = ("X-Queue-Time", "X-Inference-Time")
IF_ANY = ("X-Tokenization-Time", "X-Postprocessing-Time", "X-Payload-Fetch-Time")
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
        return write_body(json_items_reply(model, answered.blobs, answered.errors), "json", headers=headers)
    body = msgpack_items_reply(model, answered.blobs, answered.errors)
    return Reply(200, body, MSGPACK_TYPE, headers)


def scores_reply(kind: Format, model: str, answered: Answered, headers: Headers) -> Reply:
    if kind == "json":
        return write_body(json_scores_reply(model, answered.blobs[0]), "json", headers=headers)
    return Reply(200, msgpack_scores_reply(model, answered.blobs[0]), MSGPACK_TYPE, headers)


def headers_of(ended: Ended, results: tuple[WorkResult, ...], expected: BundleHash, total_s: float) -> Headers:
    """Times are those of the slowest item, in milliseconds with one decimal."""
    headers: list[tuple[str, str]] = []
    for result in results:
        if result.worker_id:
            headers.append(("X-SIE-Worker", result.worker_id))
            break
    headers += _revision(results, expected)
    headers.append(("X-Queue-Publish-Time", _ms(ended.publish_s * 1000)))
    headers.append(("X-Queue-Wait-Time", _ms(ended.wait_s * 1000)))
    for (name, always), worst in zip(_TIMES, map(max, zip(*map(_times, results), strict=True)), strict=True):
        if always or worst > 0:
            headers.append((name, _ms(worst)))
    headers.append(("X-Total-Time", _ms(total_s * 1000)))
    headers += _units(results)
    return tuple(headers)


_TIMES = (*((name, True) for name in ALWAYS), *((name, False) for name in IF_ANY))


def _times(result: WorkResult) -> tuple[float, ...]:
    """In the order of `_TIMES`."""
    return (
        result.queue_ms or 0.0,
        result.inference_ms or 0.0,
        result.tokenization_ms or 0.0,
        result.postprocessing_ms or 0.0,
        result.payload_fetch_ms or 0.0,
    )


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
    if not sums:
        return ()
    return tuple((name, str(sums[unit])) for unit, name in UNITS.items() if sums.get(unit, -1) >= 0)


def _ms(value: float) -> str:
    return f"{value:.1f}"
