"""The pools and workers that `ci/bench pools` measures with, and how it takes a time."""

import time
from collections.abc import Callable, Sequence

import attrs

from ci.lib.bench_config_models import model_id
from sie.domain.bundle_hash import BundleHash
from sie.domain.ids import DEFAULT_POOL, BundleName, MachineProfile, WorkerId
from sie.domain.lane import Lane
from sie.domain.pool import Pool, PoolSpec, pool_spec
from sie.domain.worker import ModelState, WorkerStatus
from sie.gateway.core.pool_view import PoolView

WORKERS = 2_000
CAPPED = 1_000
UNCAPPED = 100
CAP = 16
"""The most workers that a capped pool holds."""
RUNS = 3
BUNDLE = BundleName("alpha")
CONFIG_HASH = BundleHash("ab" * 32)
NOW_S = 1_750_000_000.0
"""Unix time of the bench's pools."""
PINNED_EVERY = 10
"""Of so many pools one pins a model and has a warm floor."""


@attrs.frozen
class Shape:
    """Over how many lanes the workers are spread. In one alone a pool has all of them to draw from."""

    name: str
    lanes: tuple[Lane, ...]

    def lane(self, number: int) -> Lane:
        return self.lanes[number % len(self.lanes)]


def lane(number: int) -> Lane:
    return Lane(DEFAULT_POOL, MachineProfile(f"l4-{number}"), BUNDLE)


ONE_LANE = Shape("one_lane", (lane(0),))
EIGHT_LANES = Shape("eight_lanes", tuple(map(lane, range(8))))
SHAPES = (ONE_LANE, EIGHT_LANES)


def worker(number: int, shape: Shape, config_hash: BundleHash = CONFIG_HASH) -> WorkerStatus:
    loaded = ModelState(model_id(0), "loaded")
    name = WorkerId(f"worker-{number:05d}")
    return WorkerStatus(name, shape.lane(number), config_hash, ready=True, models=(loaded,), url=f"http://{name}:8080")


def workers(shape: Shape, config_hash: BundleHash = CONFIG_HASH) -> tuple[WorkerStatus, ...]:
    return tuple(worker(number, shape, config_hash) for number in range(WORKERS))


def capped(number: int, shape: Shape = EIGHT_LANES, cap: int | None = None) -> PoolSpec:
    """With a cap of its own, 1 to `CAP`, where none is given."""
    profile, is_pinned = shape.lane(number).machine_profile, number % PINNED_EVERY == 0
    return pool_spec(
        f"tenant-{number:04d}",
        gpus={profile: 1},
        gpu_caps={profile: cap or 1 + number % CAP},
        bundle=BUNDLE if number % 2 else None,
        minimum_worker_count=int(is_pinned),
        pinned_models=[model_id(0)] if is_pinned else [],
    )


def uncapped(number: int, shape: Shape = EIGHT_LANES) -> PoolSpec:
    return pool_spec(f"open-{number:04d}", gpus={shape.lane(number).machine_profile: 1}, gpu_caps={}, bundle=BUNDLE)


def specs(shape: Shape) -> tuple[PoolSpec, ...]:
    return (*(capped(n, shape) for n in range(CAPPED)), *(uncapped(n, shape) for n in range(UNCAPPED)))


def view_of(shape: Shape, there: Sequence[WorkerStatus]) -> PoolView:
    view = PoolView.with_protected((), NOW_S)
    for spec in specs(shape):
        view.kept(Pool(spec, NOW_S, NOW_S))
    view.know(there)
    return view


def timed_ms(work: Callable[[], object], prepare: Callable[[], object] = lambda: None) -> list[float]:
    """Of each of the `RUNS`, after its own preparing."""
    return [_once_ms(work, prepare) for _ in range(RUNS)]


def _once_ms(work: Callable[[], object], prepare: Callable[[], object]) -> float:
    prepare()
    return thread_ms(work)


def thread_ms(work: Callable[[], object]) -> float:
    """Processor time, so that nothing else that runs on the machine counts."""
    began = time.thread_time()
    work()
    return 1000 * (time.thread_time() - began)


def rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values]
