"""What does it cost to say which workers each pool holds (`ci/bench pools`): from nothing, and after one change?"""

import statistics
from collections.abc import Iterator, Sequence
from functools import partial

from ci.lib.bench_figure import Figure
from ci.lib.bench_pools_facts import (
    CAPPED,
    RUNS,
    SHAPES,
    UNCAPPED,
    WORKERS,
    Shape,
    rounded,
    specs,
    thread_ms,
    timed_ms,
    view_of,
    worker,
    workers,
)
from sie.domain.worker import WorkerStatus
from sie.gateway.core.assign import assign
from sie.gateway.core.pool_view import PoolView

FULL_LIMIT_MS = 20.0
CHANGE_LIMIT_MS = 2.0
CHANGES = 200
QUICK_CHANGES = 50


def assign_figures(quick: bool) -> Iterator[Figure]:
    for shape in SHAPES:
        there, held = workers(shape), specs(shape)
        view = view_of(shape, there)
        assert view.assignment(held[-1].name).shares[0] is view.assignment(held[-1 - len(shape.lanes)].name).shares[0]
        yield figure(shape, "assign_all", timed_ms(partial(assign, held, there)), FULL_LIMIT_MS)
        yield figure(shape, "know_all", timed_ms(partial(view.know, there), partial(view.know, ())), FULL_LIMIT_MS)
        changes = QUICK_CHANGES if quick else CHANGES
        taken = [one_round(view, shape, there, changes) for _ in range(RUNS)]
        yield figure(shape, "one_change", taken, CHANGE_LIMIT_MS, f"the best median of {changes} changes")


def one_round(view: PoolView, shape: Shape, there: Sequence[WorkerStatus], changes: int) -> float:
    """The median: by turns one worker is not there, and is there again, as a look at the whole fleet finds it."""
    fleets = []
    for number in range(changes // 2):
        without = [*there[:number], *there[number + 1 :]]
        fleets += [without, [*without, worker(number, shape)]]
    return statistics.median(thread_ms(partial(view.know, fleet)) for fleet in fleets)


def figure(shape: Shape, name: str, taken: Sequence[float], limit_ms: float, of: str = "the best") -> Figure:
    details = {"of": of, "runs": rounded(taken), "pools": CAPPED + UNCAPPED, "workers": WORKERS}
    return Figure("pools", f"{name}_{shape.name}", min(taken), limit_ms, "ms", details)
