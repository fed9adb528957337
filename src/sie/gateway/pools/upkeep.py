"""Who keeps the pools true while nobody asks (§16.3)? Tasks that see who works, end leases and tell what is needed."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import NoReturn

import attrs
import trio

from sie.domain.ids import WorkerId
from sie.domain.pool import Pool
from sie.domain.worker import WorkerStatus
from sie.gateway.core.capacity import Capacity, Moment, Pins, capacity_of
from sie.gateway.core.demand import Demand
from sie.gateway.core.pool_view import PoolView
from sie.gateway.pools.api import PoolStore
from sie.runtime.service import Forever

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Between two looks: so old is what a pool says of its workers at most."""
CAPACITY_S = 5.0
PINS_S = 30.0
"""Between two snapshots (§15, §16.3)."""
EXPIRE_AT_ONCE = 8
"""Leases that are ended at the same time: as many as a store is asked for at once."""


@attrs.define
class Told:
    """What telemetry reads: whole snapshots, each put in place in one assignment. None before the first one."""

    capacity: Capacity | None = None
    pins: Pins = attrs.field(factory=Pins)


@attrs.frozen
class Upkeep:
    """`workers` are those that take work now, `unix_s` is wall time."""

    view: PoolView
    store: PoolStore
    demand: Demand
    workers: Callable[[], Iterable[WorkerStatus]]
    unix_s: Callable[[], float]
    told: Told = attrs.field(factory=Told)

    async def look_once(self) -> None:
        self.view.know(self.workers())
        limit = trio.CapacityLimiter(EXPIRE_AT_ONCE)
        async with trio.open_nursery() as nursery:
            for pool in self.view.over(self.unix_s()):
                nursery.start_soon(self._expire, pool, limit)

    async def tell_capacity(self) -> None:
        moment = Moment(trio.current_time(), self.unix_s())
        self.told.capacity = capacity_of(self.view, self.demand, self._by_name(), moment)

    async def tell_pins(self) -> None:
        self.told.pins = self.told.pins.after(self.view, self._by_name(), trio.current_time())

    async def _expire(self, pool: Pool, limit: trio.CapacityLimiter) -> None:
        async with limit:
            if await self.store.expire(pool):
                log.info("a pool's lease is over", extra={"pool": pool.spec.name})

    def _by_name(self) -> Mapping[WorkerId, WorkerStatus]:
        return {status.worker: status for status in self.workers()}


def duties(upkeep: Upkeep) -> tuple[Forever, ...]:
    looks = ((upkeep.look_once, LOOK_S), (upkeep.tell_capacity, CAPACITY_S), (upkeep.tell_pins, PINS_S))
    return tuple(partial(_forever, look, every_s) for look, every_s in looks)


async def _forever(look: Callable[[], Awaitable[None]], every_s: float) -> NoReturn:
    while True:
        await look()
        await trio.sleep(every_s)
