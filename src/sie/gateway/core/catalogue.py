"""What `GET /v1/models` and the status of the cluster show (wire-facts 1.9, 1.11 and 4.2): registry and fleet. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import attrs

from sie.domain.ids import WorkerId
from sie.domain.registry import RegistrySnapshot, ServingName
from sie.domain.worker import ModelState, WorkerStatus
from sie.gateway.core.replica import Replica

PRECEDENCE = ("loading", "unloading", "loaded", "failed", "available")
_NO_STATES: Sequence[ModelState] = ()


@attrs.frozen
class Traffic:
    """What this gateway counts of its own work."""

    in_flight: int = 0
    per_second: float = 0.0


def model_infos(snapshot: RegistrySnapshot, workers: Iterable[WorkerStatus]) -> list[Mapping[str, object]]:
    """Every name that can be served, by name."""
    states = model_states(snapshot, workers)
    names = {name.model.serving_id(name.profile): name for name in snapshot.serving.values()}
    return [
        _model_info(serving_id, names[serving_id], states.get(serving_id, _NO_STATES)) for serving_id in sorted(names)
    ]


def model_info(snapshot: RegistrySnapshot, name: ServingName, workers: Iterable[WorkerStatus]) -> Mapping[str, object]:
    serving_id = name.model.serving_id(name.profile)
    return _model_info(serving_id, name, model_states(snapshot, workers).get(serving_id, _NO_STATES))


def model_states(snapshot: RegistrySnapshot, workers: Iterable[WorkerStatus]) -> Mapping[str, Sequence[ModelState]]:
    """By serving id, what the workers that hold our configuration say of it."""
    states: dict[str, list[ModelState]] = defaultdict(list)
    for worker in workers:
        expected = snapshot.scoped_hash(worker.lane.bundle, worker.lane.pool)
        if worker.takes_work and expected is not None and worker.bundle_config_hash == expected:
            for state in worker.models:
                states[state.serving_id].append(state)
    return states


def health(
    workers: Sequence[WorkerStatus],
    replica: Replica,
    traffic: Traffic,
    saturated: frozenset[WorkerId],
) -> Mapping[str, object]:
    """Always told, whatever it is; `healthy` means that at least one worker takes work."""
    healthy = [worker for worker in workers if worker.takes_work]
    snapshot, bootstrap = replica.registry.snapshot, replica.bootstrap
    return {
        "status": "healthy" if healthy else "degraded",
        "type": "gateway",
        "configured_gpu_types": [],
        "live_gpu_types": sorted({str(worker.lane.machine_profile) for worker in healthy}),
        "cluster": {
            "worker_count": len(healthy),
            "gpu_count": sum(worker.gpu_count for worker in healthy),
            "models_loaded": len({name for worker in healthy for name in worker.loaded}),
            "total_qps": traffic.per_second,
        },
        "requests_in_flight": traffic.in_flight,
        "config_epoch": replica.reading.epoch,
        "bootstrap": {"done": bootstrap.done, "attempts": bootstrap.attempts, "degraded": bootstrap.degraded},
        "deltas": dict(replica.deltas),
        "polls": dict(replica.polls),
        "registry": {"bundles": len(snapshot.bundles), "models": len(snapshot.models)},
        "workers": [_worker_row(worker, worker.worker in saturated) for worker in workers],
        "models": _model_summaries(healthy),
    }


def _model_info(serving_id: str, name: ServingName, states: Sequence[ModelState]) -> Mapping[str, object]:
    model = name.model
    failed = next((state for state in states if state.state == "failed"), None)
    return {
        "name": serving_id,
        "inputs": list(model.inputs),
        "outputs": [*model.encode_dims, *(["score"] if model.scores else []), *(["json"] if model.extracts else [])],
        "dims": {output: dim for output, dim in model.encode_dims.items() if dim},
        "loaded": any(row.state == "loaded" for row in states),
        "state": state_of({row.state for row in states}),
        "last_error": _last_error(failed) if failed else None,
        "max_sequence_length": model.max_sequence_length,
        "revision": model.hf_revision,
        "profiles": {profile: {"is_default": profile == "default"} for profile in sorted(model.profiles)},
        "capabilities": None,
        "routing": {"policy": None, "upstream_kind": None},
        "aliases": [],
    }


def state_of(states: Iterable[str]) -> str:
    """What one model is called when workers differ about it."""
    told = set(states)
    return next((state for state in PRECEDENCE if state in told), "available")


def _last_error(failed: ModelState) -> Mapping[str, object]:
    return {"code": failed.error_code, "message": failed.error, "attempts": 1, "permanent": False}


def _worker_row(worker: WorkerStatus, saturated: bool) -> Mapping[str, object]:
    return {
        "name": worker.worker,
        "url": worker.url or f"http://{worker.worker}",
        "gpu": worker.lane.machine_profile,
        "gpu_count": worker.gpu_count,
        "ready_gpu_slots": worker.gpu_count if worker.takes_work else 0,
        "device": worker.device,
        "healthy": worker.takes_work,
        "ready": worker.ready,
        "draining": worker.draining,
        "saturated": saturated,
        "queue_depth": worker.pending_items,
        "memory_used_bytes": worker.memory_used_bytes,
        "memory_total_bytes": worker.memory_total_bytes,
        "loaded_models": list(worker.loaded),
        "pool": worker.lane.pool,
        "bundle": worker.lane.bundle,
        "bundle_config_hash": worker.bundle_config_hash or "",
        "models": [
            {"name": m.serving_id, "state": m.state, "activity": m.activity, "error": m.error} for m in worker.models
        ],
    }


def _model_summaries(healthy: Iterable[WorkerStatus]) -> list[Mapping[str, object]]:
    """What workers hold, by name; `total_queue_depth` is what waits at those that have the model loaded."""
    states: dict[str, set[str]] = defaultdict(set)
    profiles: dict[str, set[str]] = defaultdict(set)
    loaded, depths = Counter[str](), Counter[str]()
    for worker in healthy:
        for model in worker.models:
            states[model.serving_id].add(model.state)
            profiles[model.serving_id].add(str(worker.lane.machine_profile))
        for serving_id in set(worker.loaded):
            loaded[serving_id] += 1
            depths[serving_id] += worker.pending_items
    return [
        {
            "name": name,
            "state": state_of(states[name]),
            "worker_count": loaded[name],
            "gpu_types": sorted(profiles[name]),
            "total_queue_depth": depths[name],
        }
        for name in sorted(states)
    ]
