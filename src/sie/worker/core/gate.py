"""May this worker run what was admitted to a pool (§2, §16.3)? It knows what the gateways last said of their pools.

Named pools are closed where nobody says that they assign this worker; the default pool stays open, so that a gateway
that is away takes no base capacity with it. Sans-IO; `sie.worker.gate` polls.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import attrs

from sie.domain.ids import DEFAULT_POOL, WorkerId
from sie.domain.lane import Lane
from sie.wire.pool_listing import ListedPool

TRUST_S = 35.0
"""How long an assignment is believed after it was read: three polls may fail, the last by running out of time."""


@attrs.frozen
class Admitted:
    """It may be run here."""


@attrs.frozen
class NotAssigned:
    """Other workers have the pool."""

    reason: str


@attrs.frozen
class Unknown:
    """Nobody can say whose the pool is."""

    reason: str


Standing: TypeAlias = Admitted | NotAssigned | Unknown
ADMITTED = Admitted()


@attrs.define(eq=False)
class Gate:
    """`is_polled`: somebody asks a gateway. Where nobody does, the lane's own pool and the default one are open."""

    worker: WorkerId
    lane: Lane
    is_polled: bool
    _pools: Mapping[str, ListedPool] = attrs.field(factory=dict, init=False)
    _read_s: float = attrs.field(default=float("-inf"), init=False)

    def receive(self, pools: Iterable[ListedPool], *, now_s: float) -> None:
        """All pools that there are. Of their workers, only this one is kept in mind."""
        ours = frozenset((self.worker,))
        self._pools = {pool.name: attrs.evolve(pool, workers=pool.workers & ours) for pool in pools}
        self._read_s = now_s

    def judge(self, admission_pool: str, *, now_s: float) -> Standing:
        """`""` is the lane's own queue pool."""
        name = admission_pool.lower() or self._home
        if name == self._home and self._opens_home():
            return ADMITTED
        if now_s - self._read_s > TRUST_S:
            return ADMITTED if name == DEFAULT_POOL else Unknown(self._distrust(name))
        pool = self._pools.get(name)
        if pool is None:
            return Unknown(f"there is no pool {name!r}")
        if self.worker not in pool.workers:
            return NotAssigned(f"the pool {name!r} does not assign this worker")
        return ADMITTED

    def may_pull(self, *, now_s: float) -> bool:
        """Is anything of this queue to be run here? What is pulled and given back uses up its deliveries."""
        return self._is_open(self._home, now_s) or any(self._is_open(name, now_s) for name in self._backed())

    def pinned(self) -> frozenset[str]:
        """Serving ids that are to stay loaded here. A gateway that is away takes no pin away."""
        return frozenset(model for name in self._backed() for model in self._pools[name].pinned)

    def assigned(self) -> tuple[str, ...]:
        """The pools on this worker's queue that assign it, as last read."""
        return self._backed()

    def age_s(self, *, now_s: float) -> float | None:
        """How long ago the pools were read; None: never."""
        return None if self._read_s == float("-inf") else now_s - self._read_s

    @property
    def _home(self) -> str:
        return self.lane.pool.lower()

    def _opens_home(self) -> bool:
        """The default pool has no caps; of another, its caps as last read count, however long ago that was."""
        if self._home == DEFAULT_POOL or not self.is_polled:
            return True
        pool = self._pools.get(self._home)
        return pool is not None and self.lane.machine_profile.lower() not in pool.caps

    def _backed(self) -> tuple[str, ...]:
        """The pools on this worker's queue that assign it."""
        return tuple(
            name for name, pool in self._pools.items() if pool.queue_pool == self._home and self.worker in pool.workers
        )

    def _is_open(self, name: str, now_s: float) -> bool:
        return isinstance(self.judge(name, now_s=now_s), Admitted)

    def _distrust(self, name: str) -> str:
        since = "and no pools could be read" if self._pools else "before any pools were read"
        return f"whether the pool {name!r} assigns this worker is unknown, {since}"
