"""What `GET /v1/models` and `GET /health` show (wire-facts 1.9 and 1.11), from the registry and the fleet. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from sie.domain.registry import RegistrySnapshot, ServingName
from sie.domain.worker import ModelState, WorkerStatus

_PRECEDENCE = ("loading", "unloading", "loaded", "failed", "available")
"""What one model is called when workers differ about it."""


def model_infos(snapshot: RegistrySnapshot, workers: Sequence[WorkerStatus]) -> list[Mapping[str, object]]:
    """Every name that can be served, by name."""
    names = sorted(snapshot.serving.values(), key=lambda name: name.model.serving_id(name.profile))
    return [model_info(snapshot, name, workers) for name in names]


def model_info(snapshot: RegistrySnapshot, name: ServingName, workers: Sequence[WorkerStatus]) -> Mapping[str, object]:
    model = name.model
    serving_id = model.serving_id(name.profile)
    states = list(_states(snapshot, name, workers))
    failed = next((state for state in states if state.state == "failed"), None)
    state = next((s for s in _PRECEDENCE if any(row.state == s for row in states)), "available")
    return {
        "name": serving_id,
        "inputs": list(model.inputs),
        "outputs": [*model.encode_dims, *(["score"] if model.scores else []), *(["json"] if model.extracts else [])],
        "dims": {output: dim for output, dim in model.encode_dims.items() if dim},
        "loaded": any(row.state == "loaded" for row in states),
        "state": state,
        "last_error": _last_error(failed) if failed else None,
        "max_sequence_length": model.max_sequence_length,
        "revision": model.hf_revision,
        "profiles": {profile: {"is_default": profile == "default"} for profile in sorted(model.profiles)},
        "capabilities": None,
        "routing": {"policy": None, "upstream_kind": None},
        "aliases": [],
    }


def health(workers: Sequence[WorkerStatus], *, requests_in_flight: int) -> Mapping[str, object]:
    """Always told, whatever it is; `healthy` means that at least one worker takes work."""
    healthy = [worker for worker in workers if worker.takes_work]
    return {
        "status": "healthy" if healthy else "degraded",
        "type": "gateway",
        "configured_gpu_types": [],
        "live_gpu_types": sorted({str(worker.lane.machine_profile) for worker in healthy}),
        "cluster": {
            "worker_count": len(healthy),
            "gpu_count": len(healthy),
            "models_loaded": len({name for worker in healthy for name in worker.loaded}),
        },
        "requests_in_flight": requests_in_flight,
        "workers": [_worker_row(worker) for worker in workers],
    }


def _worker_row(worker: WorkerStatus) -> Mapping[str, object]:
    return {
        "name": worker.worker,
        "url": f"http://{worker.worker}",
        "gpu": worker.lane.machine_profile,
        "gpu_count": 1,
        "ready_gpu_slots": int(worker.takes_work),
        "healthy": worker.takes_work,
        "queue_depth": worker.pending_items,
        "loaded_models": list(worker.loaded),
        "bundle": worker.lane.bundle,
        "bundle_config_hash": worker.bundle_config_hash or "",
        "models": [
            {"name": m.serving_id, "state": m.state, "activity": m.activity, "error": m.error} for m in worker.models
        ],
    }


def _states(snapshot: RegistrySnapshot, name: ServingName, workers: Iterable[WorkerStatus]) -> Iterable[ModelState]:
    """What the workers that hold our configuration say of this name."""
    serving_id = name.model.serving_id(name.profile)
    for worker in workers:
        expected = snapshot.scoped_hash(worker.lane.bundle, worker.lane.pool)
        if worker.takes_work and expected is not None and worker.bundle_config_hash == expected:
            yield from (state for state in worker.models if state.serving_id == serving_id)


def _last_error(failed: ModelState) -> Mapping[str, object]:
    return {"code": failed.error_code, "message": failed.error, "attempts": 1, "permanent": False}
