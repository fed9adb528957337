"""Time and luck as arguments: what a service takes from the machine, so that a simulation can give it something else.

Monotonic time is Trio's own clock, which tests replace with one that jumps. Each service's `app.World` adds its parts.
"""

import gc
import random
import sys
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

import attrs
import trio

T = TypeVar("T")

YOUNG = 10_000
"""Objects that the collector lets come before it looks at them: of a large request nearly all live until it ends."""
SWITCH_S = 0.001
"""How long the loop waits for a thread that computes. A step of it may wait several times, so Python's 5 ms add up."""


class RunInThread(Protocol):
    """Blocking work off the loop; in simulation it runs in place."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


def _as_other_work(machine: "Machine") -> RunInThread:
    return machine.run_in_thread


@attrs.frozen
class Machine:
    """`unix_s` is wall time in seconds; `random` seeds every id and every jitter; `stop` asks the service to end.
    `build_in_thread` is for work that leaves much in memory for long, as a registry of thousands of models is.
    """

    unix_s: Callable[[], float]
    random: random.Random
    run_in_thread: RunInThread
    stop: trio.Event
    build_in_thread: RunInThread = attrs.field(default=attrs.Factory(_as_other_work, takes_self=True))

    def token(self, digits: int = 16) -> str:
        """A fresh lowercase hex id."""
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"


def real_machine(stop: trio.Event) -> Machine:
    """For `__main__` modules. Ids come from the system's entropy. Threads give way to the loop after `SWITCH_S`.

    What has been imported by now stays for good, and out of the garbage collector's rounds.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    limiter = trio.CapacityLimiter(4)

    async def run_in_thread(work: Callable[[], T], /) -> T:
        return await trio.to_thread.run_sync(work, limiter=limiter)

    async def build_in_thread(work: Callable[[], T], /) -> T:
        return await trio.to_thread.run_sync(lambda: build_quietly(work), limiter=limiter)

    return Machine(time.time, random.SystemRandom(), run_in_thread, stop, build_in_thread)


def build_quietly(work: Callable[[], T]) -> T:
    """The garbage collector rests meanwhile, and what was built stays out of its later rounds: it stops every thread
    for as long as it walks, which over tens of thousands of new objects is a tenth of a second again and again.

    One round comes before: garbage that was kept out with the rest would never be collected.
    """
    gc.collect()
    gc.disable()
    try:
        built = work()
        gc.freeze()
    finally:
        gc.enable()
    return built


def let_go(values: list[T]) -> None:
    """Empties the list bit by bit. Ten thousand things that die in one step stop every thread for as long, since
    nothing comes between; here the loop does.
    """
    while values:
        values.pop()
