"""A process died: is it started again, and when? Sans-IO: lifetimes in, a verdict out."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import attrs

from sie.runtime.retrying import Backoff

AT_ONCE_S = 5.0
"""A life shorter than this counts as dying at once."""
MAX_AT_ONCE = 5
BACKOFF = Backoff(initial_s=0.25, cap_s=10.0)


@attrs.frozen
class Restart:
    delay_s: float


@attrs.frozen
class GiveUp:
    """It died at once `MAX_AT_ONCE` times in a row while the system was starting."""


Verdict: TypeAlias = Restart | GiveUp
Phase = Literal["starting", "running"]


@attrs.define
class Deaths:
    """The deaths of one process. Once the system has been ready, it is started again for ever, at a bounded pace."""

    _in_a_row: int = 0
    _delays: Iterator[float] = attrs.field(factory=BACKOFF.delays)

    def judge(self, lived_s: float, phase: Phase) -> Verdict:
        if lived_s >= AT_ONCE_S:
            self._in_a_row, self._delays = 0, BACKOFF.delays()
        else:
            self._in_a_row += 1
        if phase == "starting" and self._in_a_row >= MAX_AT_ONCE:
            return GiveUp()
        return Restart(next(self._delays))
