"""Which workers does a pool hold (§16.3)? Of its queue pool, those of its bundle and machine profiles, up to its caps.

Only healthy workers are given to it. The same facts give the same answer on every gateway, in any order; the pools that
share a queue pool do not share its workers out, so a cap is a pool's own and no quota over all of them.
"""

from collections.abc import Iterable, Iterator, Mapping

import attrs

from sie.domain.ids import MachineProfile, PoolName
from sie.domain.pool import AssignedWorker, Pool, PoolSpec, PoolState
from sie.domain.worker import WorkerStatus
from sie.gateway.core.pool_ring import Place, Ring, Rings, Selection, pool_place, standing_of


@attrs.frozen
class Claim:
    """What a pool wants of one machine profile, or of all of them where it names none. `cap` None: whoever is there."""

    selection: Selection
    cap: int | None
    required: int


@attrs.frozen
class Assignment:
    """`shares` holds for each claim, in order, the workers that answer it; no worker is in two."""

    shares: tuple[tuple[AssignedWorker, ...], ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.shares))

    @property
    def workers(self) -> tuple[AssignedWorker, ...]:
        """By name."""
        return tuple(sorted((worker for share in self.shares for worker in share), key=lambda worker: worker.name))


def assign(specs: Iterable[PoolSpec], workers: Iterable[WorkerStatus]) -> Mapping[PoolName, Assignment]:
    """All of it from nothing; `core.pool_board` keeps the same answer while single facts change."""
    rings = Rings.of(standing_of(w.worker, w.lane, w.url) for w in workers if w.takes_work)
    return {spec.name: assignment_of(spec, rings) for spec in specs}


def assignment_of(spec: PoolSpec, rings: Rings) -> Assignment:
    place = pool_place(spec.name)
    return Assignment(tuple(share_of(claim.cap, rings.ring(claim.selection), place) for claim in claims_of(spec)))


def share_of(cap: int | None, ring: Ring, place: Place) -> tuple[AssignedWorker, ...]:
    return ring.everyone if cap is None else ring.take(place, cap)


def claims_of(spec: PoolSpec) -> tuple[Claim, ...]:
    return tuple(_claims(spec))


def decide_state(pool: Pool, assignment: Assignment, now_s: float) -> PoolState:
    """Active with every requirement met, somebody there, and as many as its warm floor (wire-facts 4.4)."""
    if pool.is_expired(now_s):
        return "expired"
    claims = claims_of(pool.spec)
    has_all = all(len(share) >= claim.required for claim, share in zip(claims, assignment.shares, strict=True))
    return "active" if has_all and len(assignment) >= max(1, pool.spec.minimum_worker_count) else "pending"


def _claims(spec: PoolSpec) -> Iterator[Claim]:
    named: tuple[MachineProfile | None, ...] = spec.profiles or (None,)
    for profile in named:
        selection = Selection(spec.queue_pool, profile, spec.bundle)
        if profile is None:
            yield Claim(selection, None, 0)
        else:
            yield Claim(selection, spec.gpu_caps.get(profile), spec.gpus.get(profile, 0))
