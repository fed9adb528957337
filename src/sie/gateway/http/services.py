"""What the gateway's endpoints are given (house: plain values, no settings): one record, made in `app`."""

from collections.abc import Iterable, Mapping

import attrs
import trio

from sie.bus.api import Bus
from sie.bus.jetstream import StreamSpec
from sie.bus.jetstream_api import Storage
from sie.bus.work_streams import work_stream_spec
from sie.domain.ids import PoolName, RouterId, WorkerId
from sie.domain.registry import ModelRegistry
from sie.domain.worker import WorkerStatus
from sie.gateway.core.catalogue import Traffic, health
from sie.gateway.core.demand import Demand
from sie.gateway.core.fleet import Fleet
from sie.gateway.core.pool_rules import PoolRules
from sie.gateway.core.pool_view import PoolView
from sie.gateway.core.rate import Rate
from sie.gateway.core.replica import Replica
from sie.gateway.core.routing import Facts
from sie.gateway.dispatch.pending import Pending
from sie.gateway.dispatch.publisher import Publisher
from sie.gateway.pools.api import PoolStore
from sie.gateway.pools.upkeep import Told
from sie.runtime.world import Machine


@attrs.frozen
class StreamDefaults:
    """How work streams are stored (§8.2)."""

    storage: Storage
    replicas: int
    max_age_s: int


@attrs.frozen
class Pools:
    """Read from the view and changed in the store, which tells the view; `told` is for telemetry."""

    view: PoolView
    store: PoolStore
    rules: PoolRules
    demand: Demand
    told: Told = attrs.field(factory=Told)


@attrs.frozen
class Services:
    machine: Machine
    router: RouterId
    replica: Replica
    fleet: Fleet
    bus: Bus
    pending: Pending
    publisher: Publisher
    streams: StreamDefaults
    request_timeout_s: float
    pools: Pools
    rate: Rate = attrs.field(factory=Rate)

    @property
    def registry(self) -> ModelRegistry:
        return self.replica.registry

    def facts(self, now_s: float) -> Facts:
        return Facts(self.registry.snapshot, self.pools.view, self.fleet.book(now_s))

    def workers(self) -> tuple[WorkerStatus, ...]:
        return tuple(self.fleet.heard_of(trio.current_time()))

    def health(self) -> Mapping[str, object]:
        now_s, workers = trio.current_time(), self.workers()
        traffic = Traffic(len(self.pending), self.rate.per_second(now_s))
        return health(workers, self.replica, traffic, self.saturated(workers))

    def saturated(self, workers: Iterable[WorkerStatus]) -> frozenset[WorkerId]:
        return frozenset(worker.worker for worker in workers if self.fleet.is_saturated(worker.worker))

    def stream(self, pool: PoolName) -> StreamSpec:
        defaults = self.streams
        return work_stream_spec(
            pool, storage=defaults.storage, replicas=defaults.replicas, max_age_s=defaults.max_age_s
        )
