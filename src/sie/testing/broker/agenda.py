"""What falls due when, on a clock that is told the time? Sans-IO.

Work that is overdue runs in the order of its due times, each at its own time: how often somebody looks changes nothing.
"""

import heapq
from collections.abc import Callable, Iterator
from itertools import count

import attrs


@attrs.define(eq=False)
class Timer:
    """Runs `action` once when it is due; armed again, it keeps the earlier of the two times."""

    action: Callable[[], None]
    due_s: float | None = attrs.field(default=None, init=False)


@attrs.define(eq=False)
class Agenda:
    """All timers of one broker. `on_earlier` hears of every new earliest due time."""

    now_s: float = 0.0
    on_earlier: Callable[[], None] = attrs.field(default=lambda: None)
    _heap: list[tuple[float, int, Timer]] = attrs.field(factory=list, init=False)
    _numbers: Iterator[int] = attrs.field(factory=count, init=False)

    def arm(self, timer: Timer, due_s: float) -> None:
        if timer.due_s is not None and timer.due_s <= due_s:
            return
        before = self.next_due_s()
        timer.due_s = due_s
        heapq.heappush(self._heap, (due_s, next(self._numbers), timer))
        if before is None or due_s < before:
            self.on_earlier()

    def cancel(self, timer: Timer) -> None:
        timer.due_s = None

    def next_due_s(self) -> float | None:
        """None: nothing is waiting for the time to pass."""
        while self._heap and self._heap[0][2].due_s != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run_until(self, now_s: float) -> None:
        while (due_s := self.next_due_s()) is not None and due_s <= now_s:
            timer = heapq.heappop(self._heap)[2]
            self.now_s, timer.due_s = max(self.now_s, due_s), None
            timer.action()
        self.now_s = max(self.now_s, now_s)
