"""What is due when (§8.2)? One look at the first of all that run, instead of a timer for each. Sans-IO.

All of them last equally long, so the one that began first is due first.
"""

import math
from collections.abc import Callable, Iterator
from itertools import count

import attrs

Call = Callable[[], None]


@attrs.define(eq=False)
class Deadlines:
    """Holds no more than what still runs: whatever ends in time leaves nothing behind."""

    _running: dict[int, tuple[float, Call]] = attrs.field(factory=dict, init=False)
    _numbers: Iterator[int] = attrs.field(factory=count, init=False)

    def begin(self, due_s: float, call: Call) -> int:
        """No sooner than those that began before. `call` is called at that time, unless `end` comes first."""
        number = next(self._numbers)
        self._running[number] = (due_s, call)
        return number

    def end(self, number: int) -> None:
        """Changes nothing for one that is over."""
        self._running.pop(number, None)

    @property
    def next_s(self) -> float:
        return next(iter(self._running.values()))[0] if self._running else math.inf

    def expire(self, now_s: float) -> None:
        while self.next_s <= now_s:
            _, call = self._running.pop(next(iter(self._running)))
            call()

    def __len__(self) -> int:
        return len(self._running)
