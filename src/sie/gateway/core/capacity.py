"""What makes the cluster grow (§15, §16.3): per physical lane the demand, the warm floor and what leases hold. Pure.

Every lane that was deployed has a value, so that what is over is told as zero and not as silence; and no caller can add
a lane. Which pinned models are loaded is told the same way.
"""

from collections.abc import Iterable, Iterator, Mapping

import attrs

from sie.domain.ids import PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.pool import AssignedWorker, PinnedModel, Pool
from sie.domain.worker import WorkerStatus
from sie.gateway.core.demand import Demand
from sie.gateway.core.pool_ring import folded_lane
from sie.gateway.core.pool_view import PoolView

REMEMBER_GONE_S = 300.0
"""A pin that is gone is told as not loaded for so long: any reader has seen it by then."""
_NO_PINS: Mapping["Pin", bool] = {}
_NO_TIMES: Mapping["Pin", float] = {}


@attrs.frozen
class Capacity:
    """`lease_gpus` counts each worker once, however many pools hold it; `at_s` is when it was begun to be looked at."""

    at_s: float
    pending: Mapping[Lane, bool]
    warm_floor: Mapping[Lane, int]
    lease_gpus: Mapping[Lane, int]


@attrs.frozen
class Pin:
    pool: PoolName
    model: PinnedModel


@attrs.frozen
class Pins:
    """True where a healthy worker of the pool has it loaded. `_last_s` is when each was last pinned."""

    loaded: Mapping[Pin, bool] = _NO_PINS
    _last_s: Mapping[Pin, float] = _NO_TIMES

    def after(self, view: PoolView, workers: Mapping[WorkerId, WorkerStatus], now_s: float) -> "Pins":
        """As it is now; what was pinned lately and is no more stays, as not loaded."""
        now = dict(_pins(view, workers))
        recent = {pin: at_s for pin, at_s in self._last_s.items() if now_s - at_s < REMEMBER_GONE_S}
        return Pins({**dict.fromkeys(recent, False), **now}, {**recent, **dict.fromkeys(now, now_s)})


@attrs.frozen
class Moment:
    """`now_s` is monotonic, as demand is kept; leases are in unix time."""

    now_s: float
    unix_s: float


def capacity_of(view: PoolView, demand: Demand, workers: Mapping[WorkerId, WorkerStatus], moment: Moment) -> Capacity:
    """`workers` are those that take work."""
    pending = demand.pending(moment.now_s)
    floors, leased = dict.fromkeys(pending, 0), dict.fromkeys(pending, 0)
    held = [pool for pool in view if not pool.is_expired(moment.unix_s)]
    for pool in held:
        floor = pool.spec.minimum_worker_count
        for lane in demand.lanes_of(pool.spec) if floor else ():
            floors[lane] = max(floors[lane], floor)
    for worker in _leased(view, held):
        status = workers.get(WorkerId(worker.name))
        if status is not None and (lane := folded_lane(status.lane)) in leased:
            leased[lane] += status.gpu_count
    return Capacity(moment.now_s, pending, floors, leased)


def _leased(view: PoolView, held: Iterable[Pool]) -> Iterable[AssignedWorker]:
    """Pools without a cap share one tuple of workers, so each is walked through once."""
    shares = {id(share): share for pool in held if not pool.is_protected for share in view.shares(pool.spec.name)}
    return {worker.name: worker for share in shares.values() for worker in share}.values()


def _pins(view: PoolView, workers: Mapping[WorkerId, WorkerStatus]) -> Iterator[tuple[Pin, bool]]:
    for pool in view:
        if not pool.spec.pinned_models:
            continue
        held = (workers.get(WorkerId(worker.name)) for worker in view.assignment(pool.spec.name).workers)
        loaded = {model for status in held if status is not None for model in status.loaded}
        for model in pool.spec.pinned_models:
            yield Pin(pool.spec.name, model), model in loaded
