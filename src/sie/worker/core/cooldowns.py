"""How long does a model rest after a load that failed, and when is it given up? By class and number of failures.

The table is that of wire-facts 1.7: some classes cannot pass by themselves, the others rest ever longer.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import attrs

ErrorClass: TypeAlias = Literal[
    "GATED",
    "NOT_FOUND",
    "OOM",
    "NETWORK",
    "DEPENDENCY",
    "TIMEOUT",
    "PLACEMENT",
    "CONFIG",
    "STORAGE",
    "ENGINE",
    "UNKNOWN",
]
CLASSES: Mapping[str, ErrorClass] = {name: name for name in get_args(ErrorClass)}
PERMANENT: frozenset[ErrorClass] = frozenset({"GATED", "NOT_FOUND", "DEPENDENCY", "CONFIG"})
COOLDOWN_S: Mapping[ErrorClass, float] = {
    "OOM": 60.0,
    "NETWORK": 30.0,
    "TIMEOUT": 30.0,
    "PLACEMENT": 30.0,
    "STORAGE": 60.0,
    "ENGINE": 30.0,
    "UNKNOWN": 600.0,
}
MAX_COOLDOWN_S = 1800.0
MAX_ATTEMPTS = 8


@attrs.frozen
class LoadFailure:
    """What the callers of a model that cannot be loaded are told. `attempts` failed in a row."""

    error_class: ErrorClass
    attempts: int
    permanent: bool


def judge_failure(error_class: str | None, attempts: int, *, permanent: bool) -> LoadFailure:
    """`permanent` is the backend's own word, which counts beside its class; an unknown class is UNKNOWN."""
    known = CLASSES.get(error_class or "", "UNKNOWN")
    return LoadFailure(known, attempts, permanent or known in PERMANENT or attempts >= MAX_ATTEMPTS)


def cooldown_s(failure: LoadFailure) -> float:
    """Infinite for one that is permanent."""
    if failure.permanent:
        return float("inf")
    base_s = COOLDOWN_S.get(failure.error_class, COOLDOWN_S["UNKNOWN"])
    return float(min(base_s * 2.0 ** (failure.attempts - 1), MAX_COOLDOWN_S))
