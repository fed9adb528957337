"""Time and luck as arguments: what a service takes from the machine, so that a simulation can give it something else.

Monotonic time is Trio's own clock, which tests replace with one that jumps. Each service's `app.World` adds its parts.
"""

import random
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

import attrs
import trio

T = TypeVar("T")


class RunInThread(Protocol):
    """Blocking work off the loop; in simulation it runs in place."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


@attrs.frozen
class Machine:
    """`unix_s` is wall time in seconds; `random` seeds every id and every jitter; `stop` asks the service to end."""

    unix_s: Callable[[], float]
    random: random.Random
    run_in_thread: RunInThread
    stop: trio.Event

    def token(self, digits: int = 16) -> str:
        """A fresh lowercase hex id."""
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"


def real_machine(stop: trio.Event) -> Machine:
    """For `__main__` modules. Ids come from the system's entropy."""
    limiter = trio.CapacityLimiter(4)

    async def run_in_thread(work: Callable[[], T], /) -> T:
        return await trio.to_thread.run_sync(work, limiter=limiter)

    return Machine(time.time, random.SystemRandom(), run_in_thread, stop)
