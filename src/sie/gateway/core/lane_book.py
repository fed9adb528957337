"""Which workers could take work of a lane right now (§2, §7)? The fleet in the order in which routing asks for it.

Made anew when somebody comes, goes or changes what routing looks at; a look-up costs the same in any fleet.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import attrs
import msgspec

from sie.domain.bundle_hash import BundleHash
from sie.domain.ids import BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.worker import WorkerStatus
from sie.gateway.core.pool_ring import folded_lane


@attrs.frozen
class Worker:
    """A worker that takes work; `lane` is spelt as it says it, for that is where it listens."""

    worker: WorkerId
    lane: Lane
    is_saturated: bool = False


class Wanted(msgspec.Struct, frozen=True):
    """`profile` None is any; `config_hash` None is any: only a registry that knows nothing yet asks for that."""

    pool: PoolName
    bundle: BundleName
    profile: MachineProfile | None
    config_hash: BundleHash | None


@attrs.frozen
class LaneBook:
    """Workers by name under each of the four ways to want them; names in `Wanted` are lower case."""

    _workers: Mapping[Wanted, tuple[Worker, ...]] = attrs.field(factory=dict)
    _free: Mapping[Wanted, tuple[Worker, ...]] = attrs.field(factory=dict)

    @classmethod
    def of(cls, taking_work: Iterable[WorkerStatus], saturated: Collection[WorkerId] = ()) -> "LaneBook":
        found = defaultdict[Wanted, list[Worker]](list)
        for status in taking_work:
            worker = Worker(status.worker, status.lane, status.worker in saturated)
            for wanted in _ways_to(status):
                found[wanted].append(worker)
        free = {wanted: tuple(w for w in workers if not w.is_saturated) for wanted, workers in found.items()}
        return cls({wanted: tuple(workers) for wanted, workers in found.items()}, free)

    def workers(self, wanted: Wanted) -> tuple[Worker, ...]:
        return self._workers.get(wanted, ())

    def best(self, wanted: Wanted) -> tuple[Worker, ...]:
        """Those that have room; all of them where none has."""
        return self._free.get(wanted) or self.workers(wanted)


def _ways_to(status: WorkerStatus) -> Iterable[Wanted]:
    lane = folded_lane(status.lane)
    for profile in (None, lane.machine_profile):
        yield Wanted(lane.pool, lane.bundle, profile, None)
        if status.bundle_config_hash is not None:
            yield Wanted(lane.pool, lane.bundle, profile, status.bundle_config_hash)
