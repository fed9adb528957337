"""A worker's heartbeat on `sie.health.{worker_id}` (wire-facts 2.5): a msgpack map, read with every field defaulted."""

from collections.abc import Mapping

import attrs

from sie.domain import ids
from sie.domain.lane import Lane
from sie.domain.worker import ModelState, ModelStateName, WorkerStatus
from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, WireError, structure


@attrs.frozen(kw_only=True)
class ModelRow:
    name: str
    state: ModelStateName = "available"
    activity: str = ""
    error_code: str | None = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class Heartbeat:
    """`bundle_config_hash` is `""` where there is none; it becomes None in the domain."""

    name: str
    timestamp: float = 0.0
    ready: bool = False
    draining: bool = False
    machine_profile: str = ids.DEFAULT_MACHINE_PROFILE
    pool_name: str = ids.DEFAULT_POOL
    bundle: str = "default"
    bundle_config_hash: str = ""
    device: str = "cpu"
    loaded_models: tuple[str, ...] = ()
    models: tuple[ModelRow, ...] = ()
    queue_depth: int = 0
    gpu_count: int = 1
    server: Mapping[str, object] = attrs.field(factory=dict)


def encode_heartbeat(status: WorkerStatus) -> bytes:
    return pack(
        TOLERANT.unstructure(
            Heartbeat(
                name=status.worker,
                timestamp=status.timestamp_s,
                ready=status.ready,
                draining=status.draining,
                machine_profile=status.lane.machine_profile,
                pool_name=status.lane.pool,
                bundle=status.lane.bundle,
                bundle_config_hash=status.bundle_config_hash or "",
                device=status.device,
                loaded_models=status.loaded,
                models=tuple(map(_row, status.models)),
                queue_depth=status.pending_items,
            )
        )
    )


def decode_heartbeat(data: bytes) -> WorkerStatus:
    """Raises WireError."""
    beat = structure(TOLERANT, unpack(data), Heartbeat)
    try:
        lane = Lane(
            ids.pool_name(beat.pool_name or ids.DEFAULT_POOL),
            ids.machine_profile(beat.machine_profile or ids.DEFAULT_MACHINE_PROFILE),
            ids.bundle_name(beat.bundle or "default"),
        )
        worker = ids.worker_id(beat.name)
    except ids.InvalidId as error:
        raise WireError.at(error.field, message=str(error)) from error
    return WorkerStatus(
        worker=worker,
        lane=lane,
        bundle_config_hash=beat.bundle_config_hash or None,
        ready=beat.ready,
        draining=beat.draining,
        device=beat.device,
        models=tuple(ModelState(m.name, m.state, m.activity, m.error_code, m.error) for m in beat.models),
        pending_items=beat.queue_depth,
        timestamp_s=beat.timestamp,
    )


def _row(state: ModelState) -> ModelRow:
    return ModelRow(
        name=state.serving_id,
        state=state.state,
        activity=state.activity,
        error_code=state.error_code,
        error=state.error,
    )
