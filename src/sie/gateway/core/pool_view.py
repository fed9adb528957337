"""Which pools are there, in which state, with which workers? What this gateway knows; the store of pools tells it.

A look-up asks nobody: while a store is away, the pools that are known go on. Sans-IO.
"""

from collections.abc import Iterable, Iterator

import attrs

from sie.domain.ids import DEFAULT_POOL, PoolName
from sie.domain.pool import AssignedWorker, Pool, PoolState, protected_spec
from sie.domain.worker import WorkerStatus
from sie.gateway.core.assign import Assignment, decide_state
from sie.gateway.core.pool_board import PoolBoard

SKEW_S = 5.0
"""Seconds that two gateways' clocks may be apart: so long an expired pool still holds its workers, and may be renewed,
before anybody removes it.
"""


@attrs.frozen
class ShownPool:
    pool: Pool
    state: PoolState
    assignment: Assignment


@attrs.define(eq=False)
class PoolView:
    _pools: dict[PoolName, Pool] = attrs.field(factory=dict, init=False)
    _board: PoolBoard = attrs.field(factory=PoolBoard, init=False)

    @classmethod
    def with_protected(cls, queue_pools: Iterable[PoolName], now_s: float) -> "PoolView":
        """The default pool and one for each static queue pool (§16.3), which nobody can delete."""
        view = cls()
        for name in dict.fromkeys((DEFAULT_POOL, *queue_pools)):
            view.kept(Pool(protected_spec(name), now_s, now_s, is_protected=True))
        return view

    def __len__(self) -> int:
        return len(self._pools)

    def __iter__(self) -> Iterator[Pool]:
        return iter(self._pools.values())

    def kept(self, pool: Pool) -> None:
        """The store holds it like this now. A name that is protected here stays what it is."""
        before = self._pools.get(pool.spec.name)
        if before is not None and before.is_protected:
            return
        self._pools[pool.spec.name] = pool
        if before is None or before.spec != pool.spec:
            self._board.hold(pool.spec)

    def gone(self, name: PoolName) -> None:
        """The store holds it no more."""
        before = self._pools.get(name)
        if before is not None and not before.is_protected:
            del self._pools[name]
            self._board.drop(name)

    def know(self, workers: Iterable[WorkerStatus]) -> None:
        self._board.know(workers)

    def find(self, name: PoolName) -> Pool | None:
        return self._pools.get(name)

    def assignment(self, name: PoolName) -> Assignment:
        """Nobody for a pool that is not there."""
        return self._board.assignment(name)

    def shares(self, name: PoolName) -> tuple[tuple[AssignedWorker, ...], ...]:
        return self._board.assignment(name).shares

    def shown(self, name: PoolName, now_s: float) -> ShownPool | None:
        pool = self._pools.get(name)
        if pool is None:
            return None
        assignment = self._board.assignment(name)
        return ShownPool(pool, decide_state(pool, assignment, now_s), assignment)

    def all_shown(self, now_s: float) -> Iterator[ShownPool]:
        """By name; one that goes away meanwhile is left out."""
        for name in sorted(self._pools):
            shown = self.shown(name, now_s)
            if shown is not None:
                yield shown

    def over(self, now_s: float) -> tuple[Pool, ...]:
        """Expired for so long that no clock can still hold them."""
        return tuple(pool for pool in self._pools.values() if pool.is_expired(now_s - SKEW_S))
