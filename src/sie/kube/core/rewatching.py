"""A watch ended: is the next one a listing first, and how long is the wait before it?

Quick where all was well; otherwise a jittered backoff, never below what the server asks for. An expired history asks
for a listing, which is dear: it waits too, so that a server that forgets at once is not asked in a hot loop.
"""

import attrs

from sie.kube.core.errors import KubeError, TooManyRequests, Unavailable

FIRST_S = 0.25
CAP_S = 30.0
HEALTHY_S = 5.0
"""A watch that lasted so long was a watch, also where nothing happened in it. The next one waits for nothing then."""
RELIST_AFTER = 5
"""Failures in a row after which the version itself is doubted."""
WATCH_S = 60.0
"""What a watch asks for; each takes a half more or less, so that replicas do not come back together."""
GRACE_S = 10.0
"""Beyond its time after which the connection is half open: the server would have ended the watch."""


@attrs.frozen
class Ended:
    """`heard` events and bookmarks; `error` is None where the server ended it in order."""

    heard: int
    lasted_s: float
    error: KubeError | None = None


@attrs.frozen
class Next:
    relist: bool
    wait_s: float
    failures: int


def decide_next(ended: Ended, failures: int, luck: float) -> Next:
    """`failures` in a row before this one; `luck` is in [0, 1)."""
    healthy = ended.lasted_s >= HEALTHY_S
    if ended.error is None and (healthy or ended.heard):
        return Next(relist=False, wait_s=0.0 if healthy else _wait_s(None, 1, luck), failures=0)
    failed = 1 if healthy else failures + 1
    return Next(_relists(ended.error, failed), _wait_s(ended.error, failed, luck), failed)


def decide_span_s(luck: float) -> int:
    """The `timeoutSeconds` of the next watch."""
    return int(WATCH_S * (0.5 + luck))


def _relists(error: KubeError | None, failures: int) -> bool:
    if error is None or isinstance(error, TooManyRequests | Unavailable):
        return failures >= RELIST_AFTER
    return True


def _wait_s(error: KubeError | None, failures: int, luck: float) -> float:
    backoff_s: float = min(CAP_S, FIRST_S * 2.0 ** min(failures - 1, 16))
    asked_s = (error.retry_after_s if error else None) or 0.0
    return max(backoff_s * (0.5 + luck / 2), asked_s * (1 + luck / 10))
