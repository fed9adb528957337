"""Which workers come next, seen from a pool? Workers stand on a ring in an order that nobody chose (§16.3).

A worker's place comes of its name alone and a pool's of its own, so every gateway sees one ring; a pool takes the first
workers from its place on. One that leaves draws the next one in and moves nobody else. Sans-IO.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter

import attrs

from sie.domain.ids import BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.pool import AssignedWorker

Place = bytes
"""Where something stands; the name behind its digest keeps two of one digest apart."""
_DIGEST_BYTES = 8


@attrs.frozen
class Selection:
    """The workers of a queue pool; those of one machine profile and of one bundle where they are named."""

    queue_pool: PoolName
    profile: MachineProfile | None = None
    bundle: BundleName | None = None


@attrs.frozen
class Standing:
    """A worker where it stands: on the rings of its lane."""

    place: Place
    lane: Lane
    worker: AssignedWorker


@attrs.define(eq=False)
class Ring:
    """`_places` is sorted and `_workers` in the same order."""

    _places: list[Place] = attrs.field(factory=list, init=False)
    _workers: list[AssignedWorker] = attrs.field(factory=list, init=False)
    _everyone: tuple[AssignedWorker, ...] | None = attrs.field(default=None, init=False)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def everyone(self) -> tuple[AssignedWorker, ...]:
        """One tuple for all that take everyone, until somebody comes or goes."""
        if self._everyone is None:
            self._everyone = tuple(self._workers)
        return self._everyone

    def take(self, start: Place, count: int) -> tuple[AssignedWorker, ...]:
        """The first `count` workers from there on, around the ring; all of them where there are fewer."""
        at, taken = bisect_left(self._places, start), min(count, len(self._workers))
        missing = max(0, at + taken - len(self._workers))
        return tuple(self._workers[at : at + taken] + self._workers[:missing])

    def append(self, standing: Standing) -> None:
        """Behind all others: only where rings are made of standings in the order of their places."""
        self._places.append(standing.place)
        self._workers.append(standing.worker)

    def insert(self, standing: Standing) -> None:
        at = bisect_left(self._places, standing.place)
        self._places.insert(at, standing.place)
        self._workers.insert(at, standing.worker)
        self._everyone = None

    def remove(self, standing: Standing) -> None:
        at = bisect_left(self._places, standing.place)
        del self._places[at], self._workers[at]
        self._everyone = None


@attrs.define(eq=False)
class Rings:
    """A ring for each selection that some worker is in, or that was asked for; a worker stands on four."""

    _by_selection: dict[Selection, Ring] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, standings: Iterable[Standing]) -> "Rings":
        rings, of_lane = cls(), dict[Lane, tuple[Ring, ...]]()
        for standing in sorted(standings, key=attrgetter("place")):
            found = of_lane.get(standing.lane)
            if found is None:
                found = of_lane[standing.lane] = tuple(map(rings.ring, selections_of(standing.lane)))
            for ring in found:
                ring.append(standing)
        return rings

    def __len__(self) -> int:
        return len(self._by_selection)

    def ring(self, selection: Selection) -> Ring:
        """The same one until it is forgotten."""
        ring = self._by_selection.get(selection)
        if ring is None:
            ring = self._by_selection[selection] = Ring()
        return ring

    def forget_empty(self, selection: Selection) -> None:
        """Only where nobody holds its ring."""
        ring = self._by_selection.get(selection)
        if ring is not None and not len(ring):
            del self._by_selection[selection]

    def join(self, standing: Standing) -> None:
        for selection in selections_of(standing.lane):
            self.ring(selection).insert(standing)

    def leave(self, standing: Standing) -> None:
        for selection in selections_of(standing.lane):
            self.ring(selection).remove(standing)


def selections_of(lane: Lane) -> Iterator[Selection]:
    """All that a worker of the lane is in."""
    yield Selection(lane.pool)
    yield Selection(lane.pool, lane.machine_profile)
    yield Selection(lane.pool, None, lane.bundle)
    yield Selection(lane.pool, lane.machine_profile, lane.bundle)


def standing_of(worker: WorkerId, lane: Lane, url: str | None) -> Standing:
    folded = folded_lane(lane)
    return Standing(worker_place(worker), folded, AssignedWorker(worker, folded.machine_profile, folded.bundle, url))


@lru_cache(1024)
def folded_lane(lane: Lane) -> Lane:
    """As pools name it: a worker says its lane in whatever case it was given (§16.3)."""
    return Lane(
        PoolName(lane.pool.lower()),
        MachineProfile(lane.machine_profile.lower()),
        BundleName(lane.bundle.lower()),
    )


def worker_place(worker: str) -> Place:
    return place_of("worker", worker)


def pool_place(pool: PoolName) -> Place:
    return place_of("pool", pool)


def place_of(kind: str, name: str) -> Place:
    text = name.encode()
    return blake2b(text, digest_size=_DIGEST_BYTES, person=kind.encode()).digest() + text


def is_within(place: Place, first: Place, last: Place) -> bool:
    """Is it passed on the way around from `first` to `last`, both included?"""
    if first <= last:
        return first <= place <= last
    return place >= first or place <= last
