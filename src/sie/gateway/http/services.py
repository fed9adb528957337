"""What the gateway's endpoints are given (house: plain values, no settings): one record, made in `app`."""

import attrs
import trio

from sie.bus.api import Bus
from sie.bus.jetstream import StreamSpec
from sie.bus.jetstream_api import Storage
from sie.bus.work_streams import work_stream_spec
from sie.domain.ids import PoolName, RouterId
from sie.domain.registry import ModelRegistry
from sie.domain.worker import WorkerStatus
from sie.gateway.core.fleet import Fleet
from sie.gateway.dispatch.pending import Pending
from sie.gateway.dispatch.publisher import Publisher
from sie.runtime.world import Machine


@attrs.frozen
class StreamDefaults:
    """How work streams are stored (§8.2)."""

    storage: Storage
    replicas: int
    max_age_s: int


@attrs.frozen
class Services:
    machine: Machine
    router: RouterId
    registry: ModelRegistry
    fleet: Fleet
    bus: Bus
    pending: Pending
    publisher: Publisher
    streams: StreamDefaults
    request_timeout_s: float

    def workers(self) -> tuple[WorkerStatus, ...]:
        return tuple(self.fleet.heard_of(trio.current_time()))

    def stream(self, pool: PoolName) -> StreamSpec:
        defaults = self.streams
        return work_stream_spec(
            pool, storage=defaults.storage, replicas=defaults.replicas, max_age_s=defaults.max_age_s
        )
