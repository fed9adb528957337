"""How are pools asked for and told over HTTP (wire-facts 1.10, 4.4)? The create body, and a pool's document.

The body is read exactly: a key that is misspelt, such as `gpu_cap`, would quietly make a pool without its cap.
"""

from collections.abc import Iterable, Mapping

import attrs

from sie.domain.pool import AssignedWorker, InvalidPool, Pool, PoolSpec, PoolState, pool_spec
from sie.wire.converters import EXACT, WireError, structure


@attrs.frozen(kw_only=True)
class PoolRequest:
    """null is what is not there, as some clients write it."""

    name: str
    gpus: Mapping[str, int] | None = None
    gpu_caps: Mapping[str, int] | None = None
    bundle: str | None = None
    queue_pool: str | None = None
    ttl_seconds: int | None = None
    minimum_worker_count: int | None = None
    pinned_models: tuple[str, ...] | None = None


def read_pool(value: object) -> PoolSpec:
    """Canonical. Raises WireError."""
    asked = structure(EXACT, value, PoolRequest)
    try:
        return pool_spec(
            asked.name,
            gpus=asked.gpus or {},
            gpu_caps=asked.gpu_caps or {},
            bundle=asked.bundle,
            queue_pool=asked.queue_pool,
            ttl_seconds=asked.ttl_seconds,
            minimum_worker_count=asked.minimum_worker_count or 0,
            pinned_models=asked.pinned_models or (),
        )
    except InvalidPool as error:
        raise WireError.at(message=str(error)) from error


def pool_document(pool: Pool, state: PoolState, workers: Iterable[AssignedWorker]) -> Mapping[str, object]:
    return {
        "name": pool.spec.name,
        "spec": spec_document(pool.spec),
        "status": {
            "state": state,
            "assigned_workers": list(map(_worker_row, workers)),
            "created_at": pool.created_s,
            "last_renewed": pool.renewed_s,
        },
    }


def spec_document(spec: PoolSpec) -> Mapping[str, object]:
    """What `read_pool` makes the same spec of again."""
    return {
        "name": spec.name,
        "gpus": dict(spec.gpus),
        "gpu_caps": dict(spec.gpu_caps),
        "bundle": spec.bundle,
        "queue_pool": spec.queue_pool,
        "ttl_seconds": spec.ttl_seconds,
        "minimum_worker_count": spec.minimum_worker_count,
        "pinned_models": list(spec.pinned_models),
    }


def _worker_row(worker: AssignedWorker) -> Mapping[str, object]:
    """`gpu` is the machine profile, which the spec counts by; `""` is a worker that told no address."""
    return {"name": worker.name, "url": worker.url or "", "gpu": worker.profile, "bundle": worker.bundle}
