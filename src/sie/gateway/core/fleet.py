"""Which workers there are, from their last heartbeats (§8): last one wins, silence ages a worker out. Sans-IO."""

import math
from bisect import bisect_left, insort
from collections.abc import Iterator

import attrs

from sie.domain.ids import WorkerId
from sie.domain.worker import HEARTBEAT_STALE_S, WorkerStatus, decide_saturated
from sie.gateway.core.lane_book import LaneBook

FORGET_S = 10 * HEARTBEAT_STALE_S
"""Silent for longer, a worker leaves no trace."""
MAX_WORKERS = 20_000
"""Names that are remembered: whoever renames itself with every beat costs the place of one that is silent longest."""


@attrs.frozen
class Sighting:
    """`at_s` is the gateway's own monotonic time: a worker's clock is never compared with ours."""

    status: WorkerStatus
    at_s: float
    is_saturated: bool = False


@attrs.define
class Fleet:
    """`_seen` is in the order of last beats, the oldest first, so that forgetting costs what is forgotten. The book
    holds until `_book_until_s`: what routing looks at has changed, or somebody in it may have fallen silent.
    """

    max_workers: int = MAX_WORKERS
    _seen: dict[WorkerId, Sighting] = attrs.field(factory=dict, init=False)
    _names: list[WorkerId] = attrs.field(factory=list, init=False)
    _book: LaneBook = attrs.field(factory=LaneBook, init=False)
    _book_until_s: float = attrs.field(default=-math.inf, init=False)

    def observe(self, status: WorkerStatus, now_s: float) -> None:
        before = self._seen.pop(status.worker, None)
        if before is None:
            insort(self._names, status.worker)
        saturated = decide_saturated(status, before is not None and before.is_saturated)
        after = Sighting(status, now_s, saturated)
        self._seen[status.worker] = after
        if before is None or not _routes_alike(before, after):
            self._book_until_s = -math.inf
        self._forget(now_s - FORGET_S)

    def heard_of(self, now_s: float) -> Iterator[WorkerStatus]:
        """Every worker that is there, whether it takes work or not, by name."""
        for worker in self._names:
            sighting = self._seen[worker]
            if now_s - sighting.at_s <= HEARTBEAT_STALE_S:
                yield sighting.status

    def taking_work(self, now_s: float) -> Iterator[WorkerStatus]:
        return (status for status in self.heard_of(now_s) if status.takes_work)

    def book(self, now_s: float) -> LaneBook:
        """Those that take work, as routing asks for them."""
        if now_s > self._book_until_s:
            there = list(self.taking_work(now_s))
            self._book = LaneBook.of(there, [status.worker for status in there if self.is_saturated(status.worker)])
            heard_s = (self._seen[status.worker].at_s for status in there)
            self._book_until_s = min(heard_s, default=math.inf) + HEARTBEAT_STALE_S
        return self._book

    def is_saturated(self, worker: WorkerId) -> bool:
        sighting = self._seen.get(worker)
        return sighting is not None and sighting.is_saturated

    def _forget(self, before_s: float) -> None:
        while self._seen:
            oldest = next(iter(self._seen))
            if self._seen[oldest].at_s >= before_s and len(self._seen) <= self.max_workers:
                return
            del self._seen[oldest]
            del self._names[bisect_left(self._names, oldest)]
            self._book_until_s = -math.inf


def _routes_alike(before: Sighting, after: Sighting) -> bool:
    """Nothing that the book tells has changed, and it was in the book all the time."""
    was, now = before.status, after.status
    return (
        after.at_s - before.at_s <= HEARTBEAT_STALE_S
        and before.is_saturated == after.is_saturated
        and (was.lane, was.bundle_config_hash, was.takes_work) == (now.lane, now.bundle_config_hash, now.takes_work)
    )
