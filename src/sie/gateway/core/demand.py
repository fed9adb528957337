"""Which physical lanes has somebody waited for lately (§16.3)? What scales them up from nothing.

Only lanes that were deployed can be in it, so callers can refresh an entry and never add one. An entry is over by
itself, or when work for exactly that lane was published; that workers came changes nothing. Sans-IO.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import attrs

from sie.domain.ids import BundleName, MachineProfile, PoolName
from sie.domain.lane import Lane
from sie.domain.pool import PoolSpec
from sie.gateway.core.pool_ring import folded_lane

DEMAND_S = 120.0
"""How long demand lasts after it was last seen (decisions)."""


@attrs.define(eq=False)
class Demand:
    """`_until_s` has an entry for each lane that was deployed, in monotonic time; what is over lies in the past."""

    _until_s: dict[Lane, float]
    _of_queue_pool: Mapping[PoolName, tuple[Lane, ...]]
    _handoffs: Counter[Lane] = attrs.field(factory=Counter, init=False)

    @classmethod
    def over(cls, catalogue: Iterable[Lane]) -> "Demand":
        """Nobody waits for any of these lanes yet; in the catalogue all is lower case."""
        of_queue_pool: dict[PoolName, list[Lane]] = {}
        lanes = tuple(dict.fromkeys(catalogue))
        for lane in lanes:
            of_queue_pool.setdefault(lane.pool, []).append(lane)
        return cls(dict.fromkeys(lanes, float("-inf")), {pool: tuple(found) for pool, found in of_queue_pool.items()})

    def record(self, lane: Lane, now_s: float) -> bool:
        """Whether it was deployed; another one leaves no trace."""
        folded = folded_lane(lane)
        if folded not in self._until_s:
            return False
        self._until_s[folded] = now_s + DEMAND_S
        return True

    def record_cold(
        self, spec: PoolSpec, now_s: float, *, profile: MachineProfile | None, bundle: BundleName | None
    ) -> tuple[Lane, ...]:
        """The lanes that could have served a request to this pool; where it names no profile, those of them all."""
        lanes = self.lanes_of(spec, profile=profile, bundle=bundle)
        for lane in lanes:
            self._until_s[lane] = now_s + DEMAND_S
        return lanes

    def lanes_of(
        self, spec: PoolSpec, *, profile: MachineProfile | None = None, bundle: BundleName | None = None
    ) -> tuple[Lane, ...]:
        """Of the deployed lanes those that the pool can use, as far as the request left it open."""
        profiles, wanted = spec.profiles, profile.lower() if profile is not None else None
        bundles = {name.lower() for name in (spec.bundle, bundle) if name is not None}
        return tuple(
            lane
            for lane in self._of_queue_pool.get(spec.queue_pool, ())
            if bundles <= {lane.bundle}
            and (wanted is None or lane.machine_profile == wanted)
            and (not profiles or lane.machine_profile in profiles)
        )

    def met(self, lane: Lane) -> None:
        """Work for exactly this lane was published."""
        folded = folded_lane(lane)
        if folded in self._until_s:
            self._until_s[folded] = float("-inf")

    @contextmanager
    def handing_over(self, lane: Lane) -> Iterator[None]:
        """A request's work is on its way to the lane: until that ends, whatever comes of it, the lane is wanted."""
        self.begin_handover(lane)
        try:
            yield
        finally:
            self.end_handover(lane)

    def begin_handover(self, lane: Lane) -> None:
        folded = folded_lane(lane)
        if folded in self._until_s:
            self._handoffs[folded] += 1

    def end_handover(self, lane: Lane) -> None:
        """Once for each that began."""
        folded = folded_lane(lane)
        if folded in self._until_s:
            self._handoffs[folded] -= 1
            if not self._handoffs[folded]:
                del self._handoffs[folded]

    def pending(self, now_s: float) -> Mapping[Lane, bool]:
        """Of every lane that was deployed, so that one which is over is told as such."""
        return {lane: now_s < until_s or lane in self._handoffs for lane, until_s in self._until_s.items()}
