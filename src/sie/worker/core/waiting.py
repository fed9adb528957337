"""When does the next batch go to the device (§16.2)? At once where it is idle, and otherwise just before it is.

What is sent earlier than the device can begin waits there, where nothing can join it; so it waits here, and gathers.
A device that is idle is kept waiting for a few milliseconds only, and only for work of which the broker said that it is
on its way, where that at least doubles the batch. A lone request is never held up. Sans-IO; times are Trio's.
"""

from collections import deque
from collections.abc import Collection
from statistics import median

import attrs

from sie.worker.core.batching import Kind
from sie.worker.core.turns import Outlook

MAX_IDLE_S = 0.003
"""The most that an idle device waits for a larger batch."""
IDLE_SHARE = 0.25
"""Nor for more than this part of what a batch takes."""
REMEMBERED = 8
"""Batches of a kind. A stall among them does not count: it is the median of what they tell that does."""
HAND_OVER_S = 0.002
"""From here to the backend, beside what it takes to tokenize the batch there."""
CAUTION = 0.8
"""A batch is expected to end after this part of its time: a device that idles costs more than a batch that is short."""
GAP_WEIGHT = 0.2
"""Of the newest gap between two arrivals in their mean."""
NOW_S = float("-inf")


@attrs.frozen
class Ran:
    """One batch on the device: what it held, and its seconds there."""

    tokens: int
    took_s: float
    tokenizing_s: float


@attrs.define(eq=False)
class Running:
    """One batch with the backend of `device`, from `sent_s` on."""

    kind: Kind
    device: int
    tokens: int
    sent_s: float


@attrs.define(eq=False)
class Arrivals:
    """How closely work follows work. `pending` is what the broker said to be behind the last."""

    pending: int = 0
    gap_s: float = float("inf")
    _last_s: float = NOW_S

    def add(self, *, pending: int, now_s: float) -> None:
        """After a pause the mean of the gaps begins anew."""
        gap_s, self._last_s, self.pending = now_s - self._last_s, now_s, pending
        paused = gap_s > MAX_IDLE_S or self.gap_s > MAX_IDLE_S
        self.gap_s = gap_s if paused else self.gap_s + GAP_WEIGHT * (gap_s - self.gap_s)

    def within(self, wait_s: float) -> float:
        """How many more are to be expected in that time."""
        return min(self.pending, wait_s / self.gap_s) if self.gap_s > 0 else self.pending


@attrs.define(eq=False)
class Pace:
    """What was seen of late: arrivals, and how long batches took."""

    arrivals: Arrivals = attrs.field(factory=Arrivals, init=False)
    _running: dict[int, list[Running]] = attrs.field(factory=dict, init=False)
    _freed_s: dict[int, float] = attrs.field(factory=dict, init=False)
    _ran: dict[Kind, deque[Ran]] = attrs.field(factory=dict, init=False)

    def __len__(self) -> int:
        """Batches with all backends."""
        return sum(map(len, self._running.values()))

    def running(self, device: int) -> int:
        """Batches with its backend."""
        return len(self._running.get(device, ()))

    def begin(self, kind: Kind, device: int, *, tokens: int, now_s: float) -> Running:
        running = Running(kind, device, tokens, now_s)
        self._running.setdefault(device, []).append(running)
        return running

    def end(self, running: Running, *, tokenizing_s: float | None, now_s: float) -> None:
        """Without `tokenizing_s` it failed, and says nothing of how long a batch takes."""
        self._running[running.device].remove(running)
        took_s = now_s - self._begun_s(running)
        self._freed_s[running.device] = now_s
        if tokenizing_s is not None:
            ran = Ran(running.tokens, took_s, tokenizing_s)
            self._ran.setdefault(running.kind, deque(maxlen=REMEMBERED)).append(ran)

    def go_at_s(self, outlook: Outlook, device: int, *, pulled_s: float, is_full: bool) -> float:
        """When the batch of `outlook` goes, if nothing changes before; `pulled_s` is when its first item came.

        `is_full`: no more is pulled until something has gone.
        """
        if outlook.is_whole or is_full:
            return NOW_S
        busy = self._running.get(device)
        return self._before_idle_s(outlook.kind, busy) if busy else pulled_s + self._idle_s(outlook)

    def _before_idle_s(self, kind: Kind, busy: list[Running]) -> float:
        """When it has to go so that the device has it in time. A kind of which nothing is known goes at once."""
        end_s = self._begun_s(busy[0])
        for running in busy:
            end_s += CAUTION * expected_s(self._ran.get(running.kind, ()), running.tokens)
        return end_s - max((ran.tokenizing_s for ran in self._ran.get(kind, ())), default=0.0) - HAND_OVER_S

    def _idle_s(self, outlook: Outlook) -> float:
        ran = self._ran.get(outlook.kind, ())
        longest_s = min(MAX_IDLE_S, IDLE_SHARE * expected_s(ran, max((one.tokens for one in ran), default=0)))
        return longest_s if self.arrivals.within(longest_s) >= outlook.items else 0.0

    def _begun_s(self, running: Running) -> float:
        """A device takes one after the other."""
        return max(running.sent_s, self._freed_s.get(running.device, NOW_S))


def expected_s(ran: Collection[Ran], tokens: int) -> float:
    """What a batch of so many tokens takes at least, by what others took; 0 where there are none.

    A shorter one takes no smaller part of the time than of the tokens, and a longer one no less than all of the time.
    """
    return median([one.took_s * min(1.0, tokens / max(1, one.tokens)) for one in ran]) if ran else 0.0
