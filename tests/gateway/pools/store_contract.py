"""What must every store of pools do? Checks of an empty one, which memory and the cluster's pass alike."""

from collections.abc import Awaitable, Callable

import attrs
import trio

from sie.domain.ids import PoolName
from sie.domain.pool import Pool, PoolSpec, pool_spec
from sie.gateway.core.demand import Demand
from sie.gateway.core.pool_view import SKEW_S
from sie.gateway.pools.upkeep import Upkeep
from tests.gateway.pools.clustered import Node

ACME = PoolName("acme")
NOW_S = 1_000_000.0
NAMES = ("a", "_", "a_", "-", "a-", "lease-a", "x" * 63, "_" * 63)


def spec(name: str = "acme", ttl_seconds: int | None = 60, **gpus: int) -> PoolSpec:
    return pool_spec(name, gpus=gpus, gpu_caps=gpus, ttl_seconds=ttl_seconds, pinned_models=("acme/small",))


async def what_is_put_is_told_when_the_call_returns(node: Node) -> None:
    kept = await node.store.put(spec(l4=1), NOW_S)
    assert kept == node.view.find(ACME) == Pool(spec(l4=1), NOW_S, NOW_S)


async def putting_again_changes_and_renews_and_keeps_the_birthday(node: Node) -> None:
    await node.store.put(spec(l4=1), NOW_S)
    again = await node.store.put(spec(ttl_seconds=30, a100=2), NOW_S + 5.25)
    assert again == node.view.find(ACME) == Pool(spec(ttl_seconds=30, a100=2), NOW_S, NOW_S + 5.25)


async def a_renewal_is_never_earlier_than_another_gateways(node: Node) -> None:
    await node.store.put(spec(), NOW_S)
    assert await node.store.renew(ACME, NOW_S + 7) == node.view.find(ACME) == Pool(spec(), NOW_S, NOW_S + 7)
    behind = await node.store.renew(ACME, NOW_S + 3)
    assert behind == node.view.find(ACME) == Pool(spec(), NOW_S, NOW_S + 7)


async def what_is_not_there_is_neither_renewed_nor_deleted(node: Node) -> None:
    assert await node.store.renew(ACME, NOW_S) is None
    assert not await node.store.delete(ACME)
    assert not await node.store.expire(Pool(spec(), NOW_S, NOW_S))
    assert len(node.view) == 0


async def what_is_deleted_is_gone_and_can_be_made_anew(node: Node) -> None:
    await node.store.put(spec(), NOW_S)
    assert await node.store.delete(ACME)
    assert node.view.find(ACME) is None
    assert not await node.store.delete(ACME)
    anew = await node.store.put(spec(l4=3), NOW_S + 9)
    assert anew == node.view.find(ACME) == Pool(spec(l4=3), NOW_S + 9, NOW_S + 9)


async def only_what_is_as_it_was_seen_expires(node: Node) -> None:
    seen = await node.store.put(spec(ttl_seconds=10), NOW_S)
    renewed = await node.store.renew(ACME, NOW_S + 20)
    assert not await node.store.expire(seen)
    assert renewed is not None
    assert node.view.find(ACME) == renewed
    assert await node.store.expire(renewed)
    assert not await node.store.expire(renewed)
    assert node.view.find(ACME) is None


async def every_legal_name_has_its_own_pool(node: Node) -> None:
    for name in NAMES:
        await node.store.put(spec(name), NOW_S)
    assert len(node.view) == len(NAMES)
    for name in NAMES:
        assert await node.store.delete(PoolName(name))
    assert len(node.view) == 0


async def a_pool_that_is_over_is_kept_while_some_clock_may_hold_it(node: Node) -> None:
    await node.store.put(spec(ttl_seconds=10), NOW_S)
    await Upkeep(node.view, node.store, Demand.over(()), tuple, lambda: NOW_S + 10 + SKEW_S / 2).look_once()
    assert node.view.find(ACME) is not None
    await Upkeep(node.view, node.store, Demand.over(()), tuple, lambda: NOW_S + 10 + SKEW_S).look_once()
    assert node.view.find(ACME) is None


async def several_callers_lose_nothing(node: Node) -> None:
    await node.store.put(spec(), NOW_S)
    async with trio.open_nursery() as nursery:
        for step in range(1, 6):
            nursery.start_soon(node.store.renew, ACME, NOW_S + step)
            nursery.start_soon(node.store.put, spec(f"p{step}"), NOW_S)
    assert len(node.view) == 6
    assert node.view.find(ACME) == Pool(spec(), NOW_S, NOW_S + 5)


@attrs.frozen
class Check:
    claim: str
    holds: Callable[[Node], Awaitable[None]]


CHECKS = tuple(
    Check(check.__name__, check)
    for check in (
        what_is_put_is_told_when_the_call_returns,
        putting_again_changes_and_renews_and_keeps_the_birthday,
        a_renewal_is_never_earlier_than_another_gateways,
        what_is_not_there_is_neither_renewed_nor_deleted,
        what_is_deleted_is_gone_and_can_be_made_anew,
        only_what_is_as_it_was_seen_expires,
        every_legal_name_has_its_own_pool,
        a_pool_that_is_over_is_kept_while_some_clock_may_hold_it,
        several_callers_lose_nothing,
    )
)
