"""What the gateway's endpoints are given (house: plain values, no settings): one record, made in `app`."""

from collections.abc import Iterable, Mapping

import attrs
import trio

from sie.bus.api import Bus
from sie.domain.ids import RouterId, WorkerId
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
from sie.gateway.dispatch.dispatcher import Dispatcher
from sie.gateway.pools.api import PoolStore
from sie.gateway.pools.upkeep import Told
from sie.runtime.world import Machine


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
    dispatcher: Dispatcher
    pools: Pools
    rate: Rate = attrs.field(factory=Rate)

    @property
    def registry(self) -> ModelRegistry:
        return self.replica.registry

    def facts(self, now_s: float) -> Facts:
        is_synced = self.replica.bootstrap.is_over
        return Facts(self.registry.snapshot, self.pools.view, self.fleet.book(now_s), is_synced)

    def workers(self) -> tuple[WorkerStatus, ...]:
        return tuple(self.fleet.heard_of(trio.current_time()))

    def health(self) -> Mapping[str, object]:
        now_s, workers = trio.current_time(), self.workers()
        traffic = Traffic(len(self.dispatcher.pending), self.rate.per_second(now_s))
        return health(workers, self.replica, traffic, self.saturated(workers))

    def saturated(self, workers: Iterable[WorkerStatus]) -> frozenset[WorkerId]:
        return frozenset(worker.worker for worker in workers if self.fleet.is_saturated(worker.worker))
