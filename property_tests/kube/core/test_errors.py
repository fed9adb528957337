"""Status objects become one of a small closed set of errors, whatever a server or a proxy before it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_tests.kube.strategies import json_values
from sie.kube.core.errors import (
    MAX_RETRY_AFTER_S,
    AlreadyExists,
    Conflict,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    TooManyRequests,
    Unavailable,
    error_of,
)
from sie.testing.kube.refusing import REASONS, status

CLOSED = frozenset(KubeError.__subclasses__())


@given(st.integers(300, 599), json_values, st.none() | st.text(max_size=12))
def test_everything_is_one_of_the_set(code: int, body: object, retry_after: str | None) -> None:
    error = error_of(code, body, retry_after)
    assert type(error) in CLOSED
    assert str(error)
    assert error.retry_after_s is None or 0 <= error.retry_after_s <= MAX_RETRY_AFTER_S


@given(st.sampled_from(sorted(REASONS)), st.sampled_from([200, 500]))
def test_the_status_counts_before_the_response(code: int, http: int) -> None:
    """As in an ERROR event, which comes in a response of 200."""
    assert type(error_of(http, status(code, "why"))) is type(error_of(code, None))


@given(st.integers(0, 10**30))
def test_a_retry_after_in_seconds_is_kept_within_its_bound(seconds: int) -> None:
    assert error_of(429, None, str(seconds)).retry_after_s == min(seconds, MAX_RETRY_AFTER_S)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Gone),
        (410, "Gone", Gone),
        (404, "NotFound", NotFound),
        (422, "Invalid", Invalid),
        (405, "MethodNotAllowed", Invalid),
        (415, "UnsupportedMediaType", Invalid),
        (504, "Timeout", Unavailable),
        (500, "InternalError", Unavailable),
        (503, "ServiceUnavailable", Unavailable),
        (429, "TooManyRequests", TooManyRequests),
    ],
)
def test_each_status_has_its_error(code: int, reason: str, kind: type[KubeError]) -> None:
    assert type(error_of(code, status(code, "why", reason=reason))) is kind
