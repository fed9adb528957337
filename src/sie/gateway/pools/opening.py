"""How is the place opened where this gateway keeps its pools (§16.3, decisions)? One of three, behind one Protocol."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import assert_never

import attrs

from sie.bus.api import Bus
from sie.bus.key_value import KeyValue
from sie.gateway.core.pool_home import Home, InBucket, InCluster, InProcess
from sie.gateway.pools.api import PoolListener, PoolStore
from sie.gateway.pools.cluster import OpenKube
from sie.gateway.pools.kubernetes import open_kubernetes_pools
from sie.gateway.pools.memory import MemoryPools
from sie.gateway.pools.nats import open_nats_pools
from sie.runtime.world import Machine


@attrs.frozen
class Surroundings:
    """What a place may be in. `replicas` are a bucket's copies."""

    bus: Bus
    replicas: int
    open_kube: OpenKube
    machine: Machine


@asynccontextmanager
async def open_store(home: Home, listener: PoolListener, around: Surroundings) -> AsyncIterator[PoolStore]:
    luck = around.machine.random.random
    match home:
        case InProcess():
            yield MemoryPools(listener)
        case InBucket(bucket):
            async with open_nats_pools(KeyValue(around.bus, bucket, around.replicas), listener, luck=luck) as kept:
                yield kept
        case InCluster(namespace):
            async with (
                around.open_kube(namespace, around.machine.run_in_thread) as kube,
                open_kubernetes_pools(kube, listener, luck=luck) as store,
            ):
                yield store
        case _:
            assert_never(home)
