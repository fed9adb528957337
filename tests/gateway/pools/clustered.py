"""Gateways' pool stores on one double of a cluster: in process for a clock that jumps, or over a port."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

import attrs
import trio

from sie.gateway.core.pool_view import PoolView
from sie.gateway.pools.api import PoolStore
from sie.gateway.pools.cluster import OpenKube
from sie.gateway.pools.kubernetes import KubernetesPools, open_kubernetes_pools
from sie.gateway.pools.memory import MemoryPools
from sie.kube.access import Access
from sie.kube.api import Kube
from sie.kube.client import open_kube
from sie.runtime.world import RunInThread
from sie.testing.kube.double import KubeDouble
from sie.testing.kube.inprocess import InProcess
from sie.testing.kube.model import KubeModel
from sie.testing.kube.served import open_kube_double
from tests.kube.opening import in_place

START_S = 1_000_000.0


def unix_s() -> float:
    return START_S + trio.current_time()


def new_double() -> KubeDouble:
    return KubeDouble(KubeModel(unix_s, Random(0)))


@attrs.frozen
class Node:
    """One gateway's share: what it knows, and where it changes it."""

    view: PoolView
    store: PoolStore


@attrs.frozen
class ClusterNode(Node):
    store: KubernetesPools
    transport: InProcess
    kube: Kube


@asynccontextmanager
async def open_node(double: KubeDouble, seed: int = 0) -> AsyncIterator[ClusterNode]:
    view = PoolView()
    async with trio.open_nursery() as nursery:
        transport = InProcess(double, nursery)
        async with (
            open_kube(Access("http://kube"), run_in_thread=in_place, transport=transport) as kube,
            open_kubernetes_pools(kube, view, luck=Random(seed).random) as store,
        ):
            yield ClusterNode(view, store, transport, kube)
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def in_memory() -> AsyncIterator[Node]:
    view = PoolView()
    yield Node(view, MemoryPools(view))


@asynccontextmanager
async def in_process() -> AsyncIterator[Node]:
    async with open_node(new_double()) as node:
        yield node


@asynccontextmanager
async def over_a_port() -> AsyncIterator[Node]:
    view = PoolView()
    async with (
        open_kube_double() as served,
        open_kube(Access(served.url), run_in_thread=in_place) as kube,
        open_kubernetes_pools(kube, view, luck=Random(0).random) as store,
    ):
        yield Node(view, store)


def opener(double: KubeDouble, blocked: trio.Event) -> OpenKube:
    """A gateway's way to the double, until `blocked` is set."""

    @asynccontextmanager
    async def opened(namespace: str | None, run_in_thread: RunInThread, /) -> AsyncIterator[Kube]:
        access = Access("http://kube", namespace=namespace or "default")
        async with trio.open_nursery() as nursery:
            transport = InProcess(double, nursery)

            async def block() -> None:
                await blocked.wait()
                transport.blocked = True

            nursery.start_soon(block)
            async with open_kube(access, run_in_thread=run_in_thread, transport=transport) as kube:
                yield kube
            nursery.cancel_scope.cancel()

    return opened


Wait = Callable[[], bool]


async def until(holds: Wait, *, within_s: float = 120.0) -> None:
    """On a clock that jumps, so the bound is for what never comes."""
    with trio.fail_after(within_s):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event
            await trio.sleep(0.01)
