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

ALWAYS = {"X-Queue-Time": "queue_ms", "X-Inference-Time": "inference_ms"}
IF_ANY = {
    "X-Tokenization-Time": "tokenization_ms",
    "X-Postprocessing-Time": "postprocessing_ms",
    "X-Payload-Fetch-Time": "payload_fetch_ms",
}
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
    worker = next((result.worker_id for result in results if result.worker_id), None)
    return (
        *((("X-SIE-Worker", worker),) if worker else ()),
        *_revision(results, expected),
        ("X-Queue-Publish-Time", _ms(ended.publish_s * 1000)),
        ("X-Queue-Wait-Time", _ms(ended.wait_s * 1000)),
        *((name, _ms(_worst(results, field))) for name, field in ALWAYS.items()),
        *((name, _ms(worst)) for name, field in IF_ANY.items() if (worst := _worst(results, field)) > 0),
        ("X-Total-Time", _ms(total_s * 1000)),
        *_units(results),
    )


def _revision(results: Iterable[WorkResult], expected: BundleHash) -> Headers:
    """Only where all that was answered was run by the configuration that the request was routed by (§2)."""
    executed = {result.executed_bundle_config_hash for result in results if result.success}
    return (("X-SIE-Model-Revision", expected),) if expected and executed == {expected} else ()


def _units(results: Iterable[WorkResult]) -> Headers:
    sums: dict[str, int] = {}
    for result in results:
        for unit, count in (result.units or {}).items():
            sums[unit] = sums.get(unit, 0) + count
    return tuple((name, str(sums[unit])) for unit, name in UNITS.items() if sums.get(unit, -1) >= 0)


def _worst(results: Iterable[WorkResult], field: str) -> float:
    return max((getattr(result, field) or 0.0 for result in results), default=0.0)


def _ms(value: float) -> str:
    return f"{value:.1f}"
