"""How many requests come in a second? Counted over the last `WINDOW_S` seconds. Sans-IO."""

from collections import deque

import attrs

WINDOW_S = 10


@attrs.define
class Rate:
    """A count for each whole second of the window that had requests, the oldest first."""

    _seconds: deque[tuple[int, int]] = attrs.field(factory=deque, init=False)

    def count(self, now_s: float) -> None:
        second = int(now_s)
        last, so_far = self._seconds.pop() if self._seconds else (second, 0)
        if last != second:
            self._seconds.append((last, so_far))
            so_far = 0
        self._seconds.append((second, so_far + 1))
        self._forget(second)

    def per_second(self, now_s: float) -> float:
        self._forget(int(now_s))
        return sum(count for _, count in self._seconds) / WINDOW_S

    def _forget(self, second: int) -> None:
        while self._seconds and self._seconds[0][0] <= second - WINDOW_S:
            self._seconds.popleft()
