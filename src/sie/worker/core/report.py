"""What a worker tells whoever asks it itself (§8, wire-facts 1.11): why it takes no work, and all that it is busy with.

A frame says what a heartbeat says, and how long each model's queue is; the status says besides what people look for.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import attrs

from sie.domain.worker import WorkerStatus
from sie.wire.heartbeat import heartbeat_map
from sie.worker.core.gate import Gate
from sie.worker.core.held_work import HeldWork
from sie.worker.core.state import WorkerState

Document = Mapping[str, object]


@attrs.frozen
class Server:
    """The process that tells."""

    version: str
    pid: int
    uptime_s: float


def frame_of(status: WorkerStatus, waiting: Iterable[str], server: Server) -> Document:
    """`waiting` names the model of each item that waits."""
    queued = Counter(waiting)
    beat = heartbeat_map(status)
    rows = beat["models"]
    assert isinstance(rows, list)
    models = [_row(row, status.device, queued) for row in rows]
    told = {"version": server.version, "uptime_seconds": round(server.uptime_s, 3), "pid": server.pid}
    return {**beat, "models": models, "server": told}


def work_of(held_work: HeldWork) -> Document:
    return {**attrs.asdict(held_work.totals()), "batches_in_flight": len(held_work.pace)}


def backend_of(state: WorkerState) -> Document:
    life = state.backend
    return {"device": state.device, "up": sorted(life.up), "deaths": life.deaths, "last_failure": life.last_failure}


def gate_of(gate: Gate, *, now_s: float) -> Document:
    """`read_s_ago` is None before pools were read."""
    return {
        "is_polled": gate.is_polled,
        "may_pull": gate.may_pull(now_s=now_s),
        "read_s_ago": None if (age_s := gate.age_s(now_s=now_s)) is None else round(age_s, 3),
        "pools": sorted(gate.assigned()),
        "pinned": sorted(gate.pinned()),
    }


def unready(state: WorkerState, *, connected: bool) -> str | None:
    """Why it takes no work, in the order in which it comes to be ready; None where it does (expectation 18)."""
    if state.draining:
        return "draining"
    if state.snapshot is None:
        return "the configuration has not been read"
    if not connected:
        return "there is no connection to the broker"
    if not state.has_backend:
        return "the backend is not up"
    if not state.has_consumer:
        return "its queue cannot be pulled from"
    return None if state.is_ready else "models that are to be preloaded are not loaded"


def _row(row: object, device: str, queued: Mapping[str, int]) -> Document:
    assert isinstance(row, dict)
    depth = queued.get(row["name"], 0)
    return {**row, "device": device, "queue_depth": depth, "queue_pending_items": depth}
