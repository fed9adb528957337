"""The table of codes is whole and keeps the promises that clients read from it (wire-facts 1.7)."""

import pytest

from sie.domain.errors import ERRORS, ErrorCode


def test_every_code_has_exactly_one_rule() -> None:
    assert set(ERRORS) == set(ErrorCode)
    assert len(set(map(str, ErrorCode))) == len(ErrorCode)


@pytest.mark.parametrize("code", ErrorCode)
def test_a_client_is_told_when_to_come_back_only_by_a_server_error(code: ErrorCode) -> None:
    rule = ERRORS[code]
    assert 400 <= rule.status < 600
    assert rule.retry_after_s is None or rule.status >= 500
    assert rule.meaning


@pytest.mark.parametrize(
    ("code", "status", "retry_after_s"),
    [
        (ErrorCode.PROVISIONING, 503, 60),
        (ErrorCode.QUEUE_FULL, 503, 5),
        (ErrorCode.QUEUE_UNAVAILABLE, 503, 5),
        (ErrorCode.GATEWAY_TIMEOUT, 504, 5),
        (ErrorCode.MODEL_LOADING, 503, 5),
        (ErrorCode.MODEL_LOAD_FAILED, 502, None),
    ],
)
def test_the_retry_contracts_are_the_references(code: ErrorCode, status: int, retry_after_s: int | None) -> None:
    rule = ERRORS[code]
    assert (rule.status, rule.retry_after_s, rule.envelope) == (status, retry_after_s, "error")
