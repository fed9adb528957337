"""Where are pools kept when gateways share a cluster (§16.3)? In its API server, one ConfigMap each; all watch them.

A call returns once the watch has told its change, so that a listener hears everybody's in the server's order. While
the server is away what is known stays, and a change raises StoreAway.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial

import attrs
import trio

from sie.domain.ids import PoolName
from sie.domain.pool import Pool, PoolSpec
from sie.gateway.core.pool_documents import lease_beside, pool_kept, renewed, with_spec
from sie.gateway.pools.api import PoolListener, StoreAway
from sie.gateway.pools.leases import drop_lease
from sie.gateway.pools.telling import Telling
from sie.kube.api import Kube
from sie.kube.core.documents import CONFIG_MAPS, LEASES
from sie.kube.core.errors import Conflict, KubeError, NotFound
from sie.kube.core.names import POOL_SELECTOR, config_map_name, lease_name
from sie.kube.core.values import ConfigMap
from sie.kube.swapping import ATTEMPTS, compare_and_swap, read_or_none
from sie.kube.watching import Watch, watch_forever

log = logging.getLogger(__name__)

FIRST_LISTING_S = 5.0
"""A gateway that starts waits so long at most to know its pools; without a server it starts without them."""
EXPIRE_S = 2.0
"""For ending one lease that is over: whoever looks after the pools has more to do."""
QUIET_S = 10.0
"""After that did not work none is ended."""
READ_S = 2.0
"""For finding out what became of an own change, which is told in any case."""
READS = 3


@attrs.define(eq=False)
class KubernetesPools:
    """`luck` draws from [0, 1)."""

    kube: Kube
    telling: Telling
    luck: Callable[[], float]
    _quiet_until: float = attrs.field(default=float("-inf"), init=False)

    async def put(self, spec: PoolSpec, now_s: float) -> Pool:
        kept = await self._changed(spec.name, lambda item: with_spec(item, spec, now_s))
        if kept is None:
            raise StoreAway(f"the pool {spec.name!r} was written, and is not there as it was")
        return kept

    async def renew(self, name: PoolName, now_s: float) -> Pool | None:
        return await self._changed(name, lambda item: renewed(item, now_s))

    async def delete(self, name: PoolName) -> bool:
        with _away():
            removed = await self._remove(name)
        if removed is None:
            return False
        await self.telling.removed(removed)
        await drop_lease(self.kube, name, removed)
        return True

    async def expire(self, seen: Pool) -> bool:
        """By what the watch says: only that very version is removed. Never raises; who is away is asked later."""
        item = self.telling.mirror.items.get(config_map_name(seen.spec.name))
        if item is None or pool_kept(item) != seen or trio.current_time() < self._quiet_until:
            return False
        removed = False
        with trio.move_on_after(EXPIRE_S) as within:
            removed = await self._remove_version(item)
        if within.cancelled_caught:
            self._be_quiet("no answer in time")
        if removed:
            self.telling.removed_nowait(item)
            with trio.move_on_after(EXPIRE_S):
                await drop_lease(self.kube, seen.spec.name, item)
        return removed

    async def _changed(self, name: PoolName, change: Callable[[ConfigMap | None], ConfigMap | None]) -> Pool | None:
        known = self.telling.known(config_map_name(name))
        with _away():
            item = await compare_and_swap(self.kube, CONFIG_MAPS, config_map_name(name), change, luck=self.luck)
        pool = pool_kept(item)
        if item is None or pool is None:
            return None
        if not await self.telling.written(item, known):
            await self._tell_newest(item)
        await self._say_lease(item, pool)
        return pool

    async def _tell_newest(self, written: ConfigMap) -> None:
        """What the server holds is no older than what was written; of what the watch brought nobody knows that. It is
        read again where the watch brings more meanwhile.
        """
        name = written.metadata.name
        newest: ConfigMap | None = written
        with trio.move_on_after(READ_S), suppress(KubeError):
            for _ in range(READS):
                known = self.telling.known(name)
                newest = await read_or_none(self.kube, CONFIG_MAPS, name)
                if self.telling.known(name) == known:
                    break
        self.telling.tell_ahead(name, newest)

    async def _say_lease(self, item: ConfigMap, pool: Pool) -> None:
        """The pool is held without it; the next renewal says it again."""
        wanted = partial(lease_beside, item, pool)
        try:
            await compare_and_swap(self.kube, LEASES, lease_name(pool.spec.name), wanted, luck=self.luck)
        except KubeError as error:
            log.warning("a pool's lease is not written", extra={"pool": pool.spec.name, "error": str(error)})

    async def _remove(self, name: PoolName) -> ConfigMap | None:
        """What was removed, whatever its version; never another that took its name meanwhile."""
        for _ in range(ATTEMPTS):
            item = await read_or_none(self.kube, CONFIG_MAPS, config_map_name(name))
            if item is None or pool_kept(item) is None:
                return None
            try:
                await self.kube.delete(CONFIG_MAPS, item.metadata.name, uid=item.metadata.uid)
            except NotFound:
                return None
            except Conflict:
                continue
            return item
        raise Conflict(f"{config_map_name(name)}: others were quicker {ATTEMPTS} times")

    async def _remove_version(self, item: ConfigMap) -> bool:
        at = item.metadata
        try:
            await self.kube.delete(CONFIG_MAPS, at.name, uid=at.uid, resource_version=at.resource_version)
        except (NotFound, Conflict):
            return False
        except KubeError as error:
            self._be_quiet(str(error))
            return False
        return True

    def _be_quiet(self, why: str) -> None:
        self._quiet_until = trio.current_time() + QUIET_S
        log.warning("pools that are over cannot be removed", extra={"error": why, "again_in_s": QUIET_S})


@asynccontextmanager
async def open_kubernetes_pools(
    kube: Kube, listener: PoolListener, *, luck: Callable[[], float]
) -> AsyncIterator[KubernetesPools]:
    telling = Telling(listener)
    watch = Watch(CONFIG_MAPS, telling.mirror, telling.changed, luck, POOL_SELECTOR, telling.ended)
    listed = trio.Event()
    async with trio.open_nursery() as nursery:

        async def follow() -> None:
            await nursery.start(partial(watch_forever, kube, watch))
            listed.set()

        nursery.start_soon(follow)
        with trio.move_on_after(FIRST_LISTING_S) as waiting:
            await listed.wait()
        if waiting.cancelled_caught:
            log.error("pools are not known yet: the Kubernetes API server does not answer")
        yield KubernetesPools(kube, telling, luck)
        nursery.cancel_scope.cancel()


@contextmanager
def _away() -> Iterator[None]:
    try:
        yield
    except KubeError as error:
        raise StoreAway(str(error)) from error
