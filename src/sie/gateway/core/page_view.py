"""What do people read of the cluster on the status page (§14)? Every figure and cell as text, in words. Pure.

The page shows the same view twice: written into it when it is asked for, and each second as the page lives.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import attrs

from sie.domain.ids import WorkerId
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import ModelState, WorkerStatus
from sie.gateway.core.catalogue import Traffic, state_of
from sie.gateway.core.replica import Replica

Kind = Literal["", "number", "state", "wrong"]
"""How a cell is set. What it means stands in its words: no meaning is in a colour alone."""
WORKER_HEADS: Sequence[tuple[str, Kind]] = (
    ("Name", ""),
    ("URL", ""),
    ("GPU", ""),
    ("Bundle", ""),
    ("Pool", ""),
    ("Health", ""),
    ("Configuration", ""),
    ("Queue depth", "number"),
    ("Memory", "number"),
)
MODEL_HEADS: Sequence[tuple[str, Kind]] = (
    ("Model", ""),
    ("State", ""),
    ("Loaded on", "number"),
    ("What is going on", ""),
)
NO_WORKERS = "No worker is heard of. Inference is answered with 503 PROVISIONING until one comes."
NO_MODELS = "No worker has told of a model yet."
_GIB = 1024**3

Cell = tuple[str, Kind]


@attrs.frozen
class PageView:
    """`at` is the moment in words; the rows are by name."""

    at: str
    status: str
    figures: tuple[tuple[str, str], ...]
    workers: tuple[tuple[Cell, ...], ...]
    models: tuple[tuple[Cell, ...], ...]
    no_workers: str = NO_WORKERS
    no_models: str = NO_MODELS


def page_view(
    at: str, workers: Sequence[WorkerStatus], replica: Replica, traffic: Traffic, saturated: frozenset[WorkerId]
) -> PageView:
    snapshot = replica.registry.snapshot
    return PageView(
        at,
        _status(workers),
        tuple(_figures(workers, replica, traffic)),
        tuple(_worker_cells(worker, snapshot, worker.worker in saturated) for worker in workers),
        tuple(_model_rows(workers)),
    )


def _status(workers: Sequence[WorkerStatus]) -> str:
    takers = sum(worker.takes_work for worker in workers)
    if not takers:
        return "Degraded: no worker takes work"
    return (
        f"Healthy: {takers} of {len(workers)} workers take work"
        if len(workers) > 1
        else "Healthy: the worker takes work"
    )


def _figures(workers: Iterable[WorkerStatus], replica: Replica, traffic: Traffic) -> Iterator[tuple[str, str]]:
    takers = [worker for worker in workers if worker.takes_work]
    snapshot = replica.registry.snapshot
    yield "Workers", str(len(takers))
    yield "GPUs", str(sum(worker.gpu_count for worker in takers))
    yield "Models loaded", str(len({name for worker in takers for name in worker.loaded}))
    yield "QPS", f"{traffic.per_second:.1f}"
    yield "In flight", str(traffic.in_flight)
    yield "Models known", str(len(snapshot.models))
    yield "Bundles", str(len(snapshot.bundles))
    yield "Config epoch", str(replica.reading.epoch)
    yield "Config service", _following(replica)


def _following(replica: Replica) -> str:
    bootstrap = replica.bootstrap
    if bootstrap.done:
        return "followed"
    tries = f"not read yet, tries: {bootstrap.attempts}"
    return f"{tries} (degraded)" if bootstrap.degraded else tries


def _worker_cells(worker: WorkerStatus, snapshot: RegistrySnapshot, saturated: bool) -> tuple[Cell, ...]:
    lane = worker.lane
    return (
        (worker.worker, ""),
        (worker.url or "", ""),
        (" ".join(dict.fromkeys(filter(None, (str(lane.machine_profile), worker.gpu, worker.device)))), ""),
        (lane.bundle, ""),
        (lane.pool, ""),
        _health(worker, saturated),
        _configuration(worker, snapshot),
        (str(worker.pending_items), "number"),
        (_memory(worker), "number"),
    )


def _health(worker: WorkerStatus, saturated: bool) -> Cell:
    if worker.draining:
        return "draining", "state"
    if not worker.ready:
        return "not ready", "wrong"
    return "healthy, full" if saturated else "healthy", "state"


def _configuration(worker: WorkerStatus, snapshot: RegistrySnapshot) -> Cell:
    """Whether it holds what this gateway asks of its lane (§7)."""
    expected = snapshot.scoped_hash(worker.lane.bundle, worker.lane.pool)
    if worker.bundle_config_hash is None:
        return "none yet", "wrong"
    return ("current", "state") if worker.bundle_config_hash == expected else ("differs from ours", "wrong")


def _memory(worker: WorkerStatus) -> str:
    if not worker.memory_total_bytes:
        return ""
    return f"{worker.memory_used_bytes / _GIB:.1f} of {worker.memory_total_bytes / _GIB:.1f} GiB"


def _model_rows(workers: Iterable[WorkerStatus]) -> Iterator[tuple[Cell, ...]]:
    states: dict[str, list[ModelState]] = defaultdict(list)
    for worker in workers:
        for model in worker.models:
            states[model.serving_id].append(model)
    for name in sorted(states):
        state = state_of(model.state for model in states[name])
        told = dict.fromkeys(filter(None, (model.error or model.activity for model in states[name])))
        loaded = sum(model.state == "loaded" for model in states[name])
        yield (
            (name, ""),
            (state, "wrong" if state == "failed" else "state"),
            (str(loaded), "number"),
            ("; ".join(told), ""),
        )
