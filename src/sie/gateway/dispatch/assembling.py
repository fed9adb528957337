"""The parts of dispatch put together around one bus (§2)."""

from functools import lru_cache, partial

import attrs

from sie.bus.api import Bus
from sie.bus.jetstream import StreamSpec
from sie.bus.jetstream_api import Storage
from sie.bus.work_streams import work_stream_spec, worker_stream_spec
from sie.domain.ids import PoolName, RouterId, WorkerId
from sie.domain.lane import Lane
from sie.gateway.core.admission import Lanes, Limits
from sie.gateway.core.demand import Demand
from sie.gateway.dispatch.cancels import Cancels
from sie.gateway.dispatch.direct import Direct
from sie.gateway.dispatch.dispatcher import Dispatcher
from sie.gateway.dispatch.gauges import Gauges
from sie.gateway.dispatch.handoff import Handoff
from sie.gateway.dispatch.parcels import Parcels
from sie.gateway.dispatch.payloads import Payloads
from sie.gateway.dispatch.pending import Pending
from sie.gateway.dispatch.publisher import Publisher
from sie.gateway.dispatch.streams import Streams

POOLS = 1024
"""Queue pools whose streams are remembered."""


@attrs.frozen
class Stored:
    """How work streams are stored (§8.2)."""

    storage: Storage
    replicas: int
    max_age_s: int


@attrs.frozen
class Bounds:
    limits: Limits
    timeout_s: float


def assemble(
    bus: Bus,
    router: RouterId,
    pending: Pending,
    demand: Demand,
    payloads: Payloads | None,
    stored: Stored,
    bounds: Bounds,
) -> Dispatcher:
    streams, cancels = Streams(bus), Cancels(bus, router)
    handoff = Handoff(Publisher(bus, streams), demand)
    pool_stream = lru_cache(POOLS)(partial(_pool_stream, stored))
    return Dispatcher(
        pending=pending,
        handoff=handoff,
        direct=Direct(handoff, cancels, pool_stream, partial(_worker_stream, stored)),
        parcels=Parcels(bus, payloads),
        gauges=Gauges(bus, streams),
        lanes=Lanes(bounds.limits),
        cancels=cancels,
        stream_of=pool_stream,
        timeout_s=bounds.timeout_s,
    )


def _pool_stream(stored: Stored, pool: PoolName) -> StreamSpec:
    return work_stream_spec(pool, storage=stored.storage, replicas=stored.replicas, max_age_s=stored.max_age_s)


def _worker_stream(stored: Stored, lane: Lane, worker: WorkerId) -> StreamSpec:
    return worker_stream_spec(
        lane, worker, storage=stored.storage, replicas=stored.replicas, max_age_s=stored.max_age_s
    )
