"""Which workers does each pool hold now, as pools and workers come and go? What `core.assign` says, kept up to date.

A change costs what it touches: one worker's is felt by the pools whose share it stands in, and pools without a cap
share one tuple. Sans-IO.
"""

from collections.abc import Iterable

import attrs

from sie.domain.ids import PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.pool import AssignedWorker, PoolSpec
from sie.domain.worker import WorkerStatus
from sie.gateway.core.assign import Assignment, Claim, claims_of, share_of
from sie.gateway.core.pool_ring import (
    Place,
    Ring,
    Rings,
    Selection,
    Standing,
    is_within,
    pool_place,
    selections_of,
    standing_of,
    worker_place,
)

NOBODY = Assignment()
MAX_SINGLE_CHANGES = 32
"""Workers that differ from one look to the next; where there are more, making all anew costs less."""


@attrs.define(eq=False)
class _Share:
    """One claim with its answer. `last` is the place of the last worker in it; None where it would take more."""

    claim: Claim
    ring: Ring
    place: Place
    workers: tuple[AssignedWorker, ...] = ()
    last: Place | None = None

    def current(self) -> tuple[AssignedWorker, ...]:
        return self.ring.everyone if self.claim.cap is None else self.workers

    def refill(self) -> None:
        cap = self.claim.cap
        if cap is None:
            return
        self.workers = share_of(cap, self.ring, self.place)
        is_full = cap < len(self.ring)
        self.last = worker_place(self.workers[-1].name) if is_full and self.workers else None

    def feels(self, place: Place) -> bool:
        """Whether somebody who comes or goes there changes it."""
        return self.claim.cap is not None and (self.last is None or is_within(place, self.place, self.last))


@attrs.define(eq=False)
class PoolBoard:
    """`_claiming` holds the shares of each selection by pool; `_said` what each worker is known by."""

    _rings: Rings = attrs.field(factory=Rings, init=False)
    _workers: dict[WorkerId, Standing] = attrs.field(factory=dict, init=False)
    _said: dict[WorkerId, tuple[Lane, str | None]] = attrs.field(factory=dict, init=False)
    _pools: dict[PoolName, tuple[_Share, ...]] = attrs.field(factory=dict, init=False)
    _claiming: dict[Selection, dict[PoolName, _Share]] = attrs.field(factory=dict, init=False)

    @property
    def is_blank(self) -> bool:
        """No pool and no worker, and nothing kept of any that was."""
        return not (self._pools or self._claiming or self._workers or self._said or len(self._rings))

    def assignment(self, pool: PoolName) -> Assignment:
        """Nobody for a pool that is not held."""
        shares = self._pools.get(pool)
        return NOBODY if shares is None else Assignment(tuple([share.current() for share in shares]))

    def hold(self, spec: PoolSpec) -> None:
        """In place of what was held under its name."""
        self.drop(spec.name)
        place = pool_place(spec.name)
        shares = tuple(_Share(claim, self._rings.ring(claim.selection), place) for claim in claims_of(spec))
        self._pools[spec.name] = shares
        for share in shares:
            share.refill()
            self._claiming.setdefault(share.claim.selection, {})[spec.name] = share

    def drop(self, pool: PoolName) -> None:
        for share in self._pools.pop(pool, ()):
            selection = share.claim.selection
            claiming = self._claiming[selection]
            del claiming[pool]
            if not claiming:
                del self._claiming[selection]
                self._rings.forget_empty(selection)

    def know(self, workers: Iterable[WorkerStatus]) -> None:
        """These are all that are heard of; only what differs from the last time costs anything."""
        there = {status.worker: status for status in workers if status.takes_work}
        gone = [worker for worker in self._workers if worker not in there]
        come = [s for s in there.values() if self._said.get(s.worker) != (s.lane, s.url)]
        if len(gone) + len(come) > MAX_SINGLE_CHANGES:
            self._rebuild(there.values())
            return
        for worker in gone:
            self.leave(worker)
        for status in come:
            self.join(status)

    def leave(self, worker: WorkerId) -> None:
        """Nothing where it is not known."""
        standing = self._workers.pop(worker, None)
        if standing is None:
            return
        del self._said[worker]
        self._rings.leave(standing)
        self._refill(standing)

    def join(self, status: WorkerStatus) -> None:
        """In place of what was known of it."""
        self.leave(status.worker)
        standing = self._meet(status)
        self._rings.join(standing)
        self._refill(standing)

    def _meet(self, status: WorkerStatus) -> Standing:
        standing = standing_of(status.worker, status.lane, status.url)
        self._workers[status.worker] = standing
        self._said[status.worker] = (status.lane, status.url)
        return standing

    def _refill(self, standing: Standing) -> None:
        for selection in selections_of(standing.lane):
            claiming = self._claiming.get(selection)
            if claiming is None:
                self._rings.forget_empty(selection)
                continue
            for share in claiming.values():
                if share.feels(standing.place):
                    share.refill()

    def _rebuild(self, workers: Iterable[WorkerStatus]) -> None:
        self._workers.clear()
        self._said.clear()
        self._rings = Rings.of([self._meet(status) for status in workers])
        for shares in self._pools.values():
            for share in shares:
                share.ring = self._rings.ring(share.claim.selection)
                share.refill()
