"""The clients of `ci/simulate --processes` ask again as the published SDK's `encode` does (wire-facts 1.7)."""

import json
from random import Random

import pytest

from ci.lib.processes_http import Answer
from ci.lib.processes_retry import BUDGET_S, Tried, code_of, decide_wait, reason_of
from sie.wire.codec import pack


def refusal(status: int, code: str, *, hint: str | None = None, header: bool = False) -> Answer:
    hints = {"retry-after": hint} if hint is not None else {}
    headers = {"content-type": "application/json", **({"x-sie-error-code": code} if header else {}), **hints}
    return Answer(status, headers, b"{}" if header else json.dumps({"error": {"code": code}}).encode())


def wait(answer: Answer | None, *, hint_s: float | None = None, elapsed_s: float = 0, times: int = 0) -> float | None:
    reason = reason_of(answer)
    assert reason is not None
    return decide_wait(Tried(reason, hint_s, elapsed_s, times), Random(0))


@pytest.mark.parametrize(
    ("status", "code", "hint"),
    [
        (200, "", None),
        (400, "INVALID_INPUT", None),
        (404, "MODEL_NOT_FOUND", "1"),
        (500, "all_items_failed", None),
        (502, "MODEL_LOAD_FAILED", "1"),
        (503, "PAYLOAD_UNAVAILABLE", "5"),
        (503, "QUEUE_UNAVAILABLE", None),
        (503, "transport_failure", None),
        (503, "QUEUE_UNAVAILABLE", "nan"),
        (500, "PROVISIONING", "1"),
    ],
)
def test_these_answers_are_final(status: int, code: str, hint: str | None) -> None:
    assert reason_of(refusal(status, code, hint=hint)) is None


@pytest.mark.parametrize(
    ("status", "code", "hint", "reason"),
    [
        (503, "PROVISIONING", None, "PROVISIONING"),
        (503, "MODEL_LOADING", None, "MODEL_LOADING"),
        (503, "QUEUE_FULL", None, "QUEUE_FULL"),
        (503, "QUEUE_UNAVAILABLE", "5", "QUEUE_UNAVAILABLE"),
        (503, "transport_failure", "0", "transport_failure"),
        (504, "GATEWAY_TIMEOUT", None, "504"),
        (429, "RATE_LIMIT", None, "429"),
    ],
)
def test_these_are_asked_again(status: int, code: str, hint: str | None, reason: str) -> None:
    assert reason_of(refusal(status, code, hint=hint)) == reason
    assert reason_of(refusal(status, code, hint=hint, header=True)) == reason


def test_a_lost_connection_is_asked_again_until_the_budget_is_spent() -> None:
    waited_s = wait(None)
    assert waited_s is not None
    assert 3.75 <= waited_s <= 5
    assert wait(None, elapsed_s=BUDGET_S - 1) == 1
    assert wait(None, elapsed_s=BUDGET_S) is None


def test_the_wait_that_an_answer_names_is_kept_to_the_letter_and_cut_to_the_budget() -> None:
    provisioning = refusal(503, "PROVISIONING")
    assert wait(provisioning, hint_s=60) == 60
    assert wait(provisioning, hint_s=60, elapsed_s=BUDGET_S - 7) == 7


def test_a_wait_that_would_eat_the_budget_is_not_begun_for_a_full_queue() -> None:
    assert wait(refusal(503, "QUEUE_FULL"), hint_s=60, elapsed_s=BUDGET_S - 7) is None


def test_what_is_exhausted_is_asked_three_times_more_with_growing_waits() -> None:
    exhausted = refusal(503, "RESOURCE_EXHAUSTED")
    assert wait(exhausted, hint_s=7) == 7
    assert wait(exhausted, hint_s=90) == 30
    second, third = wait(exhausted, hint_s=7, times=1), wait(exhausted, hint_s=7, times=2)
    assert second is not None
    assert third is not None
    assert 10.5 <= second <= 14
    assert 21 <= third <= 28
    assert wait(exhausted, hint_s=7, times=3) is None


def test_a_code_is_read_from_either_envelope_and_either_format() -> None:
    assert code_of(Answer(503, {}, b'{"detail": {"code": "A"}}')) == "A"
    assert code_of(Answer(503, {}, b'{"error": "no map"}')) == ""
    assert code_of(Answer(503, {}, b"no document")) == ""
    packed = pack({"error": {"code": "B"}})
    assert code_of(Answer(503, {"content-type": "application/msgpack"}, packed)) == "B"
