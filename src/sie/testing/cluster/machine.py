"""Time and luck of a simulated process: a wall clock that can be set wrong, ids from a seed, no threads."""

import random
from collections.abc import Callable
from typing import TypeVar

import attrs
import trio

from sie.runtime.world import Machine
from sie.testing.cluster.weather import Spell

T = TypeVar("T")
START_UNIX_S = 1_800_000_000.0


@attrs.define(eq=False)
class WallClock:
    """Runs with Trio's clock, `skew_s` beside it. `jumps` are all that there were: when, and how far beside since."""

    skew_s: float = 0.0
    wrong: Spell | None = None
    jumped_s: float = float("-inf")
    jumps: list[tuple[float, float]] = attrs.field(factory=list)

    def jump_to(self, skew_s: float) -> None:
        if skew_s != self.skew_s:
            self.skew_s, self.jumped_s = skew_s, trio.current_time()
            self.jumps.append((self.jumped_s, skew_s))
        if self.wrong is not None:
            self.wrong.begin() if skew_s else self.wrong.end()

    def skews(self, since_s: float) -> tuple[float, ...]:
        """How far beside it has been since then."""
        before = [skew_s for at_s, skew_s in self.jumps if at_s <= since_s]
        return ((before or [0.0])[-1], *(skew_s for at_s, skew_s in self.jumps if at_s > since_s))

    def unix_s(self) -> float:
        return START_UNIX_S + trio.current_time() + self.skew_s


async def work_in_place(work: Callable[[], T], /) -> T:
    await trio.lowlevel.checkpoint()
    return work()


def machine_of(clock: WallClock, seed: str, stop: trio.Event) -> Machine:
    return Machine(clock.unix_s, random.Random(seed), work_in_place, stop)
