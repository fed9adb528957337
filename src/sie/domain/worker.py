"""What a worker says of itself in a heartbeat (§8, wire-facts 2.5), and what a gateway may conclude from it."""

from typing import Literal

import attrs

from sie.domain.bundle_hash import BundleHash
from sie.domain.ids import WorkerId
from sie.domain.lane import Lane

HEARTBEAT_INTERVAL_S = 2.0
HEARTBEAT_STALE_S = 15.0
"""A worker not heard of for this long is not there (§8, decisions)."""

ModelStateName = Literal["available", "loading", "loaded", "unloading", "failed"]


@attrs.frozen
class ModelState:
    """One model on one worker. `activity` says in a few words what is going on, such as `compiling 3/8`."""

    serving_id: str
    state: ModelStateName
    activity: str = ""
    error_code: str | None = None
    error: str | None = None


@attrs.frozen
class WorkerStatus:
    """One heartbeat. `bundle_config_hash` is None where the worker serves nothing."""

    worker: WorkerId
    lane: Lane
    bundle_config_hash: BundleHash | None
    ready: bool
    draining: bool = False
    device: str = "cpu"
    models: tuple[ModelState, ...] = ()
    pending_items: int = 0
    timestamp_s: float = 0.0

    @property
    def takes_work(self) -> bool:
        return self.ready and not self.draining

    @property
    def loaded(self) -> tuple[str, ...]:
        return tuple(m.serving_id for m in self.models if m.state == "loaded")
