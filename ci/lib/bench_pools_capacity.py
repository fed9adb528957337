"""What does it cost to say what makes the cluster grow (`ci/bench pools`)? It is said on the loop, so a figure's limit
is what the loop may stand still.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from ci.lib.bench_figure import Figure
from ci.lib.bench_pools_facts import CAPPED, NOW_S, SHAPES, UNCAPPED, WORKERS, rounded, timed_ms, view_of, workers
from sie.domain.ids import WorkerId
from sie.domain.worker import WorkerStatus
from sie.gateway.core.capacity import Capacity, Moment, Pins, capacity_of
from sie.gateway.core.demand import Demand
from sie.gateway.core.pool_view import PoolView

GAP_LIMIT_MS = 20.0
MOMENT = Moment(0.0, NOW_S)


def capacity_figures() -> Iterator[Figure]:
    for shape in SHAPES:
        there = workers(shape)
        view, demand = view_of(shape, there), Demand.over(shape.lanes)
        assert sum(told(view, demand, there).lease_gpus.values()) == WORKERS
        yield _figure(f"capacity_{shape.name}", timed_ms(partial(told, view, demand, there)))
        yield _figure(f"pins_{shape.name}", timed_ms(partial(Pins().after, view, _by_name(there), MOMENT.now_s)))


def told(view: PoolView, demand: Demand, there: tuple[WorkerStatus, ...]) -> Capacity:
    return capacity_of(view, demand, _by_name(there), MOMENT)


def _by_name(there: tuple[WorkerStatus, ...]) -> Mapping[WorkerId, WorkerStatus]:
    return {status.worker: status for status in there}


def _figure(name: str, taken: list[float]) -> Figure:
    details = {"of": "the best", "runs": rounded(taken), "pools": CAPPED + UNCAPPED, "workers": WORKERS}
    return Figure("pools", name, min(taken), GAP_LIMIT_MS, "ms", details)
