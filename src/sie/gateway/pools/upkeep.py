"""Who keeps the pools true while nobody asks (§16.3)? One task: it sees who works, and ends leases that are over."""

import logging
from collections.abc import Callable, Iterable
from typing import NoReturn

import attrs
import trio

from sie.domain.worker import WorkerStatus
from sie.gateway.core.pool_view import PoolView
from sie.gateway.pools.api import PoolStore

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Between two looks: so old is what a pool says of its workers at most."""


@attrs.frozen
class Upkeep:
    """`workers` are those heard of now, `unix_s` is wall time."""

    view: PoolView
    store: PoolStore
    workers: Callable[[], Iterable[WorkerStatus]]
    unix_s: Callable[[], float]

    async def look_once(self) -> None:
        self.view.know(self.workers())
        for pool in self.view.over(self.unix_s()):
            if await self.store.expire(pool):
                log.info("a pool's lease is over", extra={"pool": pool.spec.name})


async def keep_up_forever(upkeep: Upkeep) -> NoReturn:
    while True:
        await upkeep.look_once()
        await trio.sleep(LOOK_S)
