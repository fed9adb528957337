"""Where are pools kept when one gateway process is all there is (decisions)? In it; they go when it ends."""

import attrs

from sie.domain.ids import PoolName
from sie.domain.pool import Pool, PoolSpec, asked_for
from sie.gateway.pools.api import PoolListener


@attrs.define(eq=False)
class MemoryPools:
    """Nothing here waits, so no two calls meet."""

    listener: PoolListener
    _pools: dict[PoolName, Pool] = attrs.field(factory=dict, init=False)

    async def put(self, spec: PoolSpec, now_s: float) -> Pool:
        return self._keep(asked_for(self._pools.get(spec.name), spec, now_s))

    async def renew(self, name: PoolName, now_s: float) -> Pool | None:
        before = self._pools.get(name)
        return None if before is None else self._keep(before.renewed(now_s))

    async def delete(self, name: PoolName) -> bool:
        if self._pools.pop(name, None) is None:
            return False
        self.listener.gone(name)
        return True

    async def expire(self, seen: Pool) -> bool:
        return self._pools.get(seen.spec.name) == seen and await self.delete(seen.spec.name)

    def _keep(self, pool: Pool) -> Pool:
        self._pools[pool.spec.name] = pool
        self.listener.kept(pool)
        return pool
