"""What does a worker's heartbeat on `sie.health.{worker_id}` say (wire-facts 2.5)? A map in msgpack or JSON.

Read field by field, by hand: one that is missing, or of a type it cannot have, counts as its default, so that no beat
of a newer or older worker is lost over a detail. Only a worker or a lane without a name cannot be taken.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import get_args

import attrs

from sie.domain import ids
from sie.domain.bundle_hash import BundleHash
from sie.domain.lane import Lane
from sie.domain.subjects import HEALTH_ALL
from sie.domain.worker import ModelState, ModelStateName, WorkerStatus
from sie.wire.codec import pack, unpack
from sie.wire.converters import TOLERANT, WireError

Row = dict[object, object]

MAX_COUNT = 2**48
"""More than any queue or memory holds, and little enough that the sum over a fleet is still a JSON integer."""
_STATES: Mapping[str, ModelStateName] = {name: name for name in get_args(ModelStateName)}
_NO_TOKEN = re.compile(r"[^A-Za-z0-9._-]+")
_ASKS_ALL = HEALTH_ALL.removesuffix(">")


@attrs.frozen(kw_only=True)
class ModelRow:
    name: str
    state: ModelStateName = "available"
    activity: str = ""
    error_code: str | None = None
    error: str | None = None
    memory_bytes: int = 0


@attrs.frozen(kw_only=True)
class Heartbeat:
    """As it is written. `bundle_config_hash` is `""` where there is none; it becomes None in the domain."""

    name: str
    timestamp: float
    ready: bool
    draining: bool
    machine_profile: str
    pool_name: str
    bundle: str
    bundle_config_hash: str
    device: str
    loaded_models: tuple[str, ...]
    models: tuple[ModelRow, ...]
    queue_depth: int
    gpu_count: int
    max_batch_requests: int
    saturated: bool
    memory_used_bytes: int
    memory_total_bytes: int
    gpus: tuple[Mapping[str, object], ...] = ()
    server: Mapping[str, object] = attrs.field(factory=dict)


def encode_heartbeat(status: WorkerStatus) -> bytes:
    return pack(heartbeat_map(status))


def heartbeat_map(status: WorkerStatus) -> Mapping[str, object]:
    """The document itself, which a worker also tells in JSON to whoever asks it (wire-facts 1.11)."""
    gpu = ({"gpu_type": status.gpu},) if status.gpu else ()
    beat = Heartbeat(
        name=status.url or status.worker,
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
        gpu_count=status.gpu_count,
        max_batch_requests=status.max_batch_requests,
        saturated=status.says_saturated,
        memory_used_bytes=status.memory_used_bytes,
        memory_total_bytes=status.memory_total_bytes,
        gpus=gpu,
    )
    document: Mapping[str, object] = TOLERANT.unstructure(beat)
    return document


def decode_heartbeat(data: bytes, *, subject: str = "") -> WorkerStatus:
    """A worker that tells no name has that of its `subject`, if there is one. Raises WireError."""
    beat = _map(data)
    gpus, models = _rows(beat, "gpus"), _rows(beat, "models")
    name = _text(beat, "name") or subject.removeprefix(_ASKS_ALL)
    config_hash = _text(beat, "bundle_config_hash")
    return WorkerStatus(
        worker=_worker(name),
        lane=_lane(beat),
        bundle_config_hash=BundleHash(config_hash) if config_hash else None,
        ready=beat.get("ready") is True,
        draining=beat.get("draining") is True,
        device=_text(beat, "device") or "cpu",
        models=tuple(_models(beat, models)),
        pending_items=_sum(models, "queue_depth") or _whole(beat, "queue_depth"),
        timestamp_s=_number(beat, "timestamp"),
        url=name if _is_url(name) else None,
        gpu_count=_whole(beat, "gpu_count") or 1,
        gpu=next((_text(gpu, "gpu_type") for gpu in gpus), ""),
        max_batch_requests=_whole(beat, "max_batch_requests"),
        says_saturated=beat.get("saturated") is True,
        memory_used_bytes=_sum(gpus, "memory_used_bytes") or _whole(beat, "memory_used_bytes"),
        memory_total_bytes=_sum(gpus, "memory_total_bytes") or _whole(beat, "memory_total_bytes"),
    )


def _map(data: bytes) -> Row:
    """msgpack, or else JSON, in that order: no JSON map is a msgpack one."""
    try:
        beat = unpack(data)
    except WireError as unread:
        try:
            beat = unpack(pack(json.loads(data)))  # so that no text and no number is in it that replies could not hold
        except (ValueError, RecursionError):
            raise unread from None
    if not isinstance(beat, dict):
        raise WireError.at(message="must be a map")
    return beat


def _worker(name: str) -> ids.WorkerId:
    """One that goes by its address is known by host and port."""
    token = _NO_TOKEN.sub("_", name.partition("://")[2].rstrip("/")) if _is_url(name) else name
    try:
        return ids.worker_id(token)
    except ids.InvalidId as error:
        raise WireError.at("name", message=str(error)) from error


def _lane(beat: Row) -> Lane:
    try:
        return Lane(
            ids.pool_name(_text(beat, "pool_name") or ids.DEFAULT_POOL),
            ids.machine_profile(_text(beat, "machine_profile") or ids.DEFAULT_MACHINE_PROFILE),
            ids.bundle_name(_text(beat, "bundle") or "default"),
        )
    except ids.InvalidId as error:
        raise WireError.at(error.field, message=str(error)) from error


def _models(beat: Row, rows: Iterable[Row]) -> Iterator[ModelState]:
    """Those with a row of their own, then those that are only listed as loaded."""
    listed = beat.get("loaded_models")
    loaded = {name: None for name in listed if isinstance(name, str)} if isinstance(listed, list) else {}
    for row in rows:
        name = _text(row, "name")
        if name:
            fallback: ModelStateName = "loaded" if name in loaded else "available"
            yield _model(name, row, fallback)
            loaded.pop(name, None)
    yield from (ModelState(name, "loaded") for name in loaded)


def _model(name: str, row: Row, fallback: ModelStateName) -> ModelState:
    """A state that we have no word for is told as what the model is doing."""
    said, activity = _text(row, "state"), _text(row, "activity")
    state = _STATES.get(said)
    if state is None:
        state, activity = fallback, activity or said
    error, memory_bytes = _some_text(row, "error"), _whole(row, "memory_bytes")
    return ModelState(name, state, activity, _some_text(row, "error_code"), error, memory_bytes)


def _rows(beat: Row, key: str) -> Sequence[Row]:
    rows = beat.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else ()


def _text(row: Row, key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _some_text(row: Row, key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) else None


def _whole(row: Row, key: str) -> int:
    """A count: below nothing is nothing."""
    value = row.get(key)
    return min(value, MAX_COUNT) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _number(row: Row, key: str) -> float:
    value = row.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def _sum(rows: Iterable[Row], key: str) -> int:
    return min(sum(_whole(row, key) for row in rows), MAX_COUNT)


def _is_url(name: str) -> bool:
    return name.startswith(("http://", "https://"))


def _row(state: ModelState) -> ModelRow:
    return ModelRow(
        name=state.serving_id,
        state=state.state,
        activity=state.activity,
        error_code=state.error_code,
        error=state.error,
        memory_bytes=state.memory_bytes,
    )
