"""How work must not be handed over: each function stands in for a right one while a mutant is on."""

from collections.abc import Iterable, Mapping, Sequence

from sie.domain.ids import WorkerId
from sie.domain.lane import Lane
from sie.domain.worker import WorkerStatus
from sie.gateway.core.capacity import Capacity, Moment, capacity_of
from sie.gateway.core.chunks import RequestChunks
from sie.gateway.core.collect import Collector
from sie.gateway.core.demand import Demand
from sie.gateway.core.pool_view import PoolView
from sie.gateway.dispatch.payloads import Payloads
from sie.wire.payload import PayloadKey
from sie.wire.work import WorkItem
from sie.worker.core.cancels import Tombstones
from sie.worker.core.gate import ADMITTED, Admitted, Gate


def keeps_the_reservation(self: RequestChunks) -> None:
    self.is_closed = True


def leaves_the_payload(self: Payloads, keys: Sequence[PayloadKey]) -> None:
    return


def keeps_the_lease(self: Demand, lane: Lane) -> None:
    return


def never_met(self: Demand, lane: Lane) -> None:
    return


def met_by_registration(
    view: PoolView, demand: Demand, workers: Mapping[WorkerId, WorkerStatus], moment: Moment
) -> Capacity:
    for status in workers.values():
        demand.met(status.lane)
    return capacity_of(view, demand, workers, moment)


def leaves_no_trace(self: Demand, *_: object, **__: object) -> tuple[Lane, ...]:
    return ()


def counts_stale_results(self: Collector, index: int) -> None:
    return


def covers_nothing(self: Tombstones, work: WorkItem, *, is_direct: bool, now_s: float) -> bool:
    return False


def admits_all(self: Gate, admission_pool: str, *, now_s: float) -> Admitted:
    return ADMITTED


def never_falls_back(missing: Iterable[int], places: Mapping[int, int], *, delivered: int | None) -> tuple[int, ...]:
    return ()


def never_leaves_its_lane(self: object, *_: object) -> None:
    return
