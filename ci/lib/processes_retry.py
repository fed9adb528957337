"""When does a client ask again, and after how long? As the published SDK's `encode` (wire-facts 1.7). Pure."""

import json
import math
from collections.abc import Mapping
from random import Random

import attrs

from ci.lib.processes_http import Answer
from sie.wire.codec import unpack
from sie.wire.converters import WireError

BUDGET_S = 900.0
DEFAULT_S: Mapping[str, float] = {
    "PROVISIONING": 5.0,
    "MODEL_LOADING": 5.0,
    "LORA_LOADING": 1.0,
    "RESOURCE_EXHAUSTED": 5.0,
    "BILLING_CAPACITY_UNAVAILABLE": 1.0,
    "QUEUE_FULL": 1.0,
    "429": 1.0,
    "504": 5.0,
    "lost": 5.0,
}
"""The wait where the answer names none."""
HINTED = frozenset({"QUEUE_UNAVAILABLE", "transport_failure"})
"""Asked again only where the answer names a wait."""
TO_THE_END = frozenset({"PROVISIONING", "MODEL_LOADING", "504", "lost"})
"""Their wait is cut to what is left of the budget; the others are not waited for then."""
TIMES: Mapping[str, int] = {"LORA_LOADING": 10, "RESOURCE_EXHAUSTED": 3}
MAX_EXHAUSTED_S = 30.0
JITTER = 0.25


@attrs.frozen
class Tried:
    """What has happened to one request so far; `times` counts the earlier answers of the same kind."""

    reason: str
    hint_s: float | None
    elapsed_s: float
    times: int = 0


def reason_of(answer: Answer | None) -> str | None:
    """By what name an answer is asked again, None where it is final. `answer` None: the connection was lost."""
    if answer is None:
        return "lost"
    if answer.status in (429, 504):
        return str(answer.status)
    code = code_of(answer)
    known = code in DEFAULT_S or (code in HINTED and hint_of(answer) is not None)
    return code if answer.status == 503 and known else None


def decide_wait(tried: Tried, luck: Random) -> float | None:
    """Seconds until the next attempt; None where the client gives up."""
    left_s = BUDGET_S - tried.elapsed_s
    if left_s <= 0 or tried.times >= TIMES.get(tried.reason, math.inf):
        return None
    wait_s = _wait_s(tried, luck)
    if tried.reason in TO_THE_END:
        return min(wait_s, left_s)
    return wait_s if wait_s < left_s else None


def _wait_s(tried: Tried, luck: Random) -> float:
    default_s = DEFAULT_S.get(tried.reason, 0.0)
    if tried.reason == "RESOURCE_EXHAUSTED" and (tried.times or tried.hint_s is None):
        default_s, tried = max(default_s, tried.hint_s or 0.0) * 2**tried.times, attrs.evolve(tried, hint_s=None)
    wait_s = default_s * luck.uniform(1 - JITTER, 1) if tried.hint_s is None else tried.hint_s
    return min(wait_s, MAX_EXHAUSTED_S) if tried.reason == "RESOURCE_EXHAUSTED" else wait_s


def hint_of(answer: Answer) -> float | None:
    """Retry-After in seconds; the gateway writes no dates."""
    try:
        seconds = float(answer.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def code_of(answer: Answer) -> str:
    """The header's, else the body's; empty where an answer has none."""
    return answer.headers.get("x-sie-error-code") or _body_code(answer)


def document_of(answer: Answer) -> Mapping[str, object]:
    """Empty where it cannot be read."""
    is_msgpack = answer.headers.get("content-type") == "application/msgpack"
    try:
        document = unpack(answer.body) if is_msgpack else json.loads(answer.body)
    except (WireError, ValueError):
        return {}
    return document if isinstance(document, Mapping) else {}


def _body_code(answer: Answer) -> str:
    document = document_of(answer)
    envelope = document.get("error", document.get("detail"))
    code = envelope.get("code") if isinstance(envelope, Mapping) else None
    return code if isinstance(code, str) else ""
