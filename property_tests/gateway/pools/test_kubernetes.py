"""Two gateways on one API server agree after each of 500 random operations, and once faults are over (§16.3)."""

import random
from collections.abc import Callable
from contextlib import suppress

import attrs
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from sie.domain.ids import PoolName
from sie.domain.pool import Pool, pool_spec
from sie.gateway.core.pool_documents import pool_kept
from sie.gateway.pools.api import StoreAway
from sie.kube.core.documents import CONFIG_MAPS, LEASES
from sie.kube.core.errors import KubeError
from sie.kube.core.names import POOL_KEY, POOL_SELECTOR, config_map_name
from sie.kube.swapping import read_or_none
from sie.testing.kube.double import KubeDouble
from sie.testing.kube.faults import Delay, Fault, Garble, Hang, LoseAnswer, Mute, Refuse
from tests.gateway.pools.clustered import ClusterNode, new_double, open_node, unix_s, until

NAMES = tuple(map(PoolName, ("a", "b_", "c-")))
OPERATIONS = 500
SETTLED_S = 1000.0
"""Longer than any wait, hang and half-open connection that a script holds."""
FAULTS: tuple[Fault, ...] = (
    *(Refuse(code, after) for code in (409, 410, 429, 500, 503) for after in (None, "3")),
    *(Delay(0.5), Delay(8.0), Delay(30.0)),
    *(Hang(), LoseAnswer(), Garble(), Mute()),
)
HARMS: tuple[Callable[[KubeDouble], None], ...] = (
    KubeDouble.cut_watches,
    KubeDouble.expire_watches,
    KubeDouble.mute_watches,
    lambda double: double.model.compact(),
)


def known(node: ClusterNode) -> tuple[Pool, ...]:
    return tuple(shown.pool for shown in node.view.all_shown(unix_s()))


async def kept(node: ClusterNode) -> tuple[Pool, ...]:
    """What the server holds."""
    items = (await node.kube.list(CONFIG_MAPS, selector=POOL_SELECTOR)).items
    pools = [pool for item in items if (pool := pool_kept(item)) is not None]
    return tuple(sorted(pools, key=lambda pool: pool.spec.name))


async def operate(node: ClusterNode, luck: random.Random) -> None:
    name, now_s = luck.choice(NAMES), unix_s() + luck.uniform(-3, 3)
    match luck.randrange(6):
        case 0 | 1:
            gpus = {"l4": luck.randrange(3)}
            await node.store.put(pool_spec(name, gpus=gpus, gpu_caps={}, ttl_seconds=luck.choice((5, 50))), now_s)
        case 2:
            await node.store.renew(name, now_s)
        case 3:
            await node.store.delete(name)
        case 4:
            for pool in node.view.over(now_s + luck.choice((0, 100))):
                await node.store.expire(pool)
        case _:
            await edit(node, name, luck.choice(("", "{", '{"spec": {}}')))


async def edit(node: ClusterNode, name: PoolName, text: str) -> None:
    """By hand, into nonsense."""
    item = await read_or_none(node.kube, CONFIG_MAPS, config_map_name(name))
    if item is not None:
        await node.kube.replace(CONFIG_MAPS, attrs.evolve(item, data={POOL_KEY: text}))


async def agree(nodes: tuple[ClusterNode, ...], *, within_s: float) -> None:
    truth = await kept(nodes[0])
    await until(lambda: all(known(node) == truth for node in nodes), within_s=within_s)


async def run_quiet(seed: int) -> None:
    luck, double = random.Random(seed), new_double()
    async with open_node(double, 1) as one, open_node(double, 2) as two:
        for _ in range(OPERATIONS):
            await operate(luck.choice((one, two)), luck)
            await agree((one, two), within_s=1.0)
            await trio.sleep(luck.choice((0, 0, 1, 10)))


def test_two_gateways_agree_after_each_of_500_operations() -> None:
    trio.run(run_quiet, 6, clock=MockClock(autojump_threshold=0))


async def run_at_once(seed: int) -> None:
    """Several operations of both at a time."""
    luck, double = random.Random(seed), new_double()
    async with open_node(double, 1) as one, open_node(double, 2) as two:
        for _ in range(12):
            async with trio.open_nursery() as nursery:
                for node in (one, two, one, two):
                    nursery.start_soon(tolerant, node, random.Random(luck.random()))
            await agree((one, two), within_s=SETTLED_S)


@given(st.integers(0, 2**16))
def test_two_gateways_that_change_pools_at_once_agree(seed: int) -> None:
    trio.run(run_at_once, seed, clock=MockClock(autojump_threshold=0))


async def tolerant(node: ClusterNode, luck: random.Random) -> None:
    with suppress(StoreAway, KubeError):
        await operate(node, luck)


async def run_with_faults(seed: int) -> None:
    luck, double = random.Random(seed), new_double()
    async with open_node(double, 1) as one, open_node(double, 2) as two:
        nodes = (one, two)
        for _ in range(20):
            await harm(nodes, double, luck)
            await tolerant(luck.choice(nodes), luck)
        for node in nodes:
            node.transport.blocked = False
        double.faults.clear()
        await agree(nodes, within_s=SETTLED_S)
        for pool in known(one):
            assert await two.store.renew(pool.spec.name, unix_s()) is not None
        await agree(nodes, within_s=SETTLED_S)
        held = {lease.spec.holder_identity for lease in (await one.kube.list(LEASES)).items}
        assert held >= {pool.spec.name for pool in known(one)}


async def harm(nodes: tuple[ClusterNode, ...], double: KubeDouble, luck: random.Random) -> None:
    match luck.randrange(5):
        case 0:
            luck.choice(HARMS)(double)
        case 1:
            double.faults.add(luck.choice(FAULTS), times=luck.randrange(1, 5))
        case 2:
            node = luck.choice(nodes)
            node.transport.blocked = not node.transport.blocked
        case _:
            await trio.sleep(luck.choice((0, 1, 40)))


@given(st.integers(0, 2**16))
def test_gateways_agree_once_the_faults_are_over(seed: int) -> None:
    trio.run(run_with_faults, seed, clock=MockClock(autojump_threshold=0))
