"""Which workers there are, from their last heartbeats (§8): last one wins, silence ages a worker out. Sans-IO."""

from collections.abc import Iterator

import attrs

from sie.domain.ids import WorkerId
from sie.domain.worker import HEARTBEAT_STALE_S, WorkerStatus


@attrs.frozen
class Sighting:
    """`at_s` is the gateway's own monotonic time: a worker's clock is never compared with ours."""

    status: WorkerStatus
    at_s: float


@attrs.define
class Fleet:
    """Bounded by pruning: a worker silent for ten times the stale bound is forgotten."""

    _seen: dict[WorkerId, Sighting] = attrs.field(factory=dict)

    def observe(self, status: WorkerStatus, now_s: float) -> None:
        self._seen[status.worker] = Sighting(status, now_s)
        self._forget_before(now_s - 10 * HEARTBEAT_STALE_S)

    def heard_of(self, now_s: float) -> Iterator[WorkerStatus]:
        """Every worker that is there, whether it takes work or not, by name."""
        for worker in sorted(self._seen):
            sighting = self._seen[worker]
            if now_s - sighting.at_s <= HEARTBEAT_STALE_S:
                yield sighting.status

    def taking_work(self, now_s: float) -> Iterator[WorkerStatus]:
        return (status for status in self.heard_of(now_s) if status.takes_work)

    def _forget_before(self, bound_s: float) -> None:
        for worker in [w for w, sighting in self._seen.items() if sighting.at_s < bound_s]:
            del self._seen[worker]
