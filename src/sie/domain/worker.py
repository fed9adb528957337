"""What a worker says of itself in a heartbeat (§8, wire-facts 2.5), and what a gateway may conclude from it."""

from typing import Literal

import attrs

from sie.domain.bundle_hash import BundleHash
from sie.domain.ids import WorkerId
from sie.domain.lane import Lane

HEARTBEAT_INTERVAL_S = 2.0
HEARTBEAT_STALE_S = 15.0
"""A worker not heard of for this long is not there (§8, decisions)."""

SATURATED_AT = 0.90
RELEASED_AT = 0.70
"""Of a worker's capacity (wire-facts 2.5): between the two, what was said before stands."""

ModelStateName = Literal["available", "loading", "loaded", "unloading", "failed"]


@attrs.frozen
class ModelState:
    """One model on one worker. `activity` says in a few words what is going on, such as `compiling 3/8`.

    `memory_bytes` is what it takes of its device, 0 where that is not known.
    """

    serving_id: str
    state: ModelStateName
    activity: str = ""
    error_code: str | None = None
    error: str | None = None
    memory_bytes: int = 0


@attrs.frozen
class WorkerStatus:
    """One heartbeat. `bundle_config_hash` is None where the worker serves nothing, `url` where it named none.

    `max_batch_requests` is its capacity in requests, 0 where that is not known; `gpu` the kind of its first one.
    """

    worker: WorkerId
    lane: Lane
    bundle_config_hash: BundleHash | None
    ready: bool
    draining: bool = False
    device: str = "cpu"
    models: tuple[ModelState, ...] = ()
    pending_items: int = 0
    timestamp_s: float = 0.0
    url: str | None = None
    gpu_count: int = 1
    gpu: str = ""
    max_batch_requests: int = 0
    says_saturated: bool = False
    memory_used_bytes: int = 0
    memory_total_bytes: int = 0

    @property
    def takes_work(self) -> bool:
        return self.ready and not self.draining

    @property
    def loaded(self) -> tuple[str, ...]:
        return tuple(m.serving_id for m in self.models if m.state == "loaded")


def decide_saturated(status: WorkerStatus, before: bool) -> bool:
    """Is it so full that another one should be sought? Its own word counts; else what waits there, as a part of what
    it can hold. One that tells no capacity is never full.
    """
    if status.says_saturated or not status.max_batch_requests:
        return status.says_saturated
    load = status.pending_items / status.max_batch_requests
    return load >= SATURATED_AT or (before and load > RELEASED_AT)
