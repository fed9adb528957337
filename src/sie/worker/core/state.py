"""What does this worker say of itself (§8, wire-facts 2.5), and when is it ready? Sans-IO; the heartbeat sends it."""

from collections.abc import Mapping

import attrs

from sie.domain.ids import WorkerId
from sie.domain.lane import Lane
from sie.domain.registry import RegistrySnapshot
from sie.domain.subjects import lane_consumer
from sie.domain.worker import WorkerStatus
from sie.wire.ipc import Failed, Finished, Hello, ModelUpdate
from sie.worker.core.loading import batch_budgets, load_request, served_names
from sie.worker.core.models import ModelStates


@attrs.frozen
class LoadEnded:
    """A model is in the backend, or is not."""

    serving_id: str
    answer: Finished | Failed


@attrs.frozen
class Unloaded:
    """A model is not in the backend any more."""

    serving_id: str


@attrs.frozen
class Died:
    """The backend process of device `number` is gone; another one is on its way."""

    reason: str = ""
    number: int = 0


ChildEvent = Hello | ModelUpdate | LoadEnded | Unloaded | Died


@attrs.define
class BackendLife:
    """For people and probes: `up` are the devices that have a process, of which `deaths` have ended in all."""

    up: set[int] = attrs.field(factory=set)
    deaths: int = 0
    last_failure: str | None = None

    def receive(self, event: ChildEvent) -> None:
        match event:
            case Hello(number=number):
                self.up.add(number)
            case Died(reason, number):
                self.up.discard(number)
                self.deaths += 1
                self.last_failure = reason
            case _:
                pass


@attrs.define
class WorkerState:
    """`snapshot` is None until the export has been read. `consumers` names those that were ensured."""

    worker: WorkerId
    lane: Lane
    device: str
    models: ModelStates = attrs.field(factory=ModelStates)
    snapshot: RegistrySnapshot | None = None
    budgets: Mapping[str, int] = attrs.field(factory=dict)
    has_backend: bool = False
    backend: BackendLife = attrs.field(factory=BackendLife)
    consumers: set[str] = attrs.field(factory=set)
    draining: bool = False

    @property
    def config_hash(self) -> str:
        return (self.snapshot.scoped_hash(self.lane.bundle, self.lane.pool) if self.snapshot else None) or ""

    @property
    def registry(self) -> RegistrySnapshot:
        """For those who work once there is one."""
        assert self.snapshot is not None
        return self.snapshot

    def install(self, snapshot: RegistrySnapshot) -> None:
        """What is loaded and reads otherwise now is loaded again before anything more runs on it."""
        served = served_names(snapshot, self.lane)
        before = self.snapshot or RegistrySnapshot.empty()
        changed = [name for name in served if load_request(before, name) != load_request(snapshot, name)]
        self.snapshot = snapshot
        self.budgets = batch_budgets(snapshot)
        self.models.install(served, changed)

    def receive(self, event: ChildEvent, *, now_s: float) -> None:
        self.backend.receive(event)
        match event:
            case Hello():
                self.has_backend = True
                self.models.memory.come_up(event.number)
                self.models.memory.learn_device(event.number, event.memory_bytes)
            case ModelUpdate():
                self.models.receive(event)
            case LoadEnded(serving_id, answer):
                if isinstance(answer, Failed):
                    self.models.fail(serving_id, answer, now_s=now_s)
                else:
                    self.models.succeed(serving_id, answer)
            case Unloaded(serving_id):
                self.models.unloaded(serving_id)
            case Died(number=number):
                self.models.memory.go_down(number)
                self.models.die(number)

    def status(self, *, connected: bool, pending_items: int, now_s: float) -> WorkerStatus:
        """`now_s` is unix time. A backend that was replaced does not count against readiness: its work waits here."""
        return WorkerStatus(
            worker=self.worker,
            lane=self.lane,
            bundle_config_hash=self.config_hash or None,
            ready=connected and self.is_ready,
            draining=self.draining,
            device=self.device,
            models=self.models.states(),
            pending_items=pending_items,
            timestamp_s=now_s,
            gpu_count=self.models.memory.devices,
            memory_used_bytes=self.models.memory.used_bytes,
            memory_total_bytes=self.models.memory.total_bytes,
        )

    @property
    def has_consumer(self) -> bool:
        """The lane's. Work that this worker's own queue does not take goes to the lane's (§8.2)."""
        return lane_consumer(self.lane) in self.consumers

    @property
    def is_ready(self) -> bool:
        applied = self.snapshot is not None
        return applied and self.has_backend and self.has_consumer and self.models.has_preloaded()
