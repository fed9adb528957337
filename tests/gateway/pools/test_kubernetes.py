"""Pools in a cluster: every store keeps one contract, gateways agree, and an API server may be away or misbehave."""

import logging
from itertools import chain

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.domain.pool import Pool
from sie.gateway.core.demand import Demand
from sie.gateway.core.pool_view import SKEW_S
from sie.gateway.pools.api import StoreAway
from sie.gateway.pools.kubernetes import QUIET_S
from sie.gateway.pools.leases import drop_lease
from sie.gateway.pools.upkeep import LOOK_S, Upkeep, duties
from sie.kube.core.documents import CONFIG_MAPS, LEASES
from sie.kube.core.names import POOL_KEY, config_map_name, lease_name
from sie.kube.swapping import ATTEMPTS, read_or_none
from sie.runtime.service import running
from sie.testing.kube.double import KubeDouble
from sie.testing.kube.faults import Delay, Fault, Garble, Hang, LoseAnswer, Mute, Refuse
from tests.gateway.pools.clustered import (
    ClusterNode,
    in_memory,
    in_process,
    new_double,
    open_node,
    over_a_port,
    unix_s,
    until,
)
from tests.gateway.pools.store_contract import ACME, CHECKS, NOW_S, Check, spec

every_check = pytest.mark.parametrize("check", CHECKS, ids=[check.claim for check in CHECKS])


@every_check
async def test_memory_keeps_the_contract(check: Check, autojump_clock: MockClock) -> None:
    async with in_memory() as node:
        await check.holds(node)


@every_check
async def test_a_cluster_in_process_keeps_the_contract(check: Check, autojump_clock: MockClock) -> None:
    async with in_process() as node:
        await check.holds(node)


@every_check
async def test_a_cluster_over_a_port_keeps_the_contract(check: Check) -> None:
    async with over_a_port() as node:
        await check.holds(node)


async def write_document(node: ClusterNode, text: str) -> None:
    """As a hand does."""
    item = await node.kube.get(CONFIG_MAPS, config_map_name(ACME))
    await node.kube.replace(CONFIG_MAPS, attrs.evolve(item, data={POOL_KEY: text}))


async def test_gateways_of_a_cluster_know_each_others_pools(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double, 1) as one, open_node(double, 2) as two:
        kept = await one.store.put(spec(l4=1), NOW_S)
        await until(lambda: two.view.find(ACME) == kept)
        renewed = await two.store.renew(ACME, NOW_S + 5)
        await until(lambda: one.view.find(ACME) == renewed)
        assert await two.store.delete(ACME)
        await until(lambda: one.view.find(ACME) is None)
        assert not await one.store.delete(ACME)


async def test_a_gateway_that_starts_knows_the_pools_that_are_there(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double) as one:
        kept = await one.store.put(spec(l4=1), NOW_S)
        async with open_node(double) as two:
            assert two.view.find(ACME) == kept


async def test_a_pool_has_one_lease_that_comes_and_goes_with_it(autojump_clock: MockClock) -> None:
    async with open_node(new_double()) as node:
        await node.store.put(spec(), NOW_S)
        await node.store.renew(ACME, NOW_S + 5)
        lease = await node.kube.get(LEASES, lease_name(ACME))
        owner = await node.kube.get(CONFIG_MAPS, config_map_name(ACME))
        assert (lease.spec.renew_unix_s, lease.spec.lease_duration_s) == (NOW_S + 5, 60)
        references = lease.metadata.rest["ownerReferences"]
        assert isinstance(references, list)
        assert [reference["uid"] for reference in references] == [owner.metadata.uid]
        await node.store.delete(ACME)
        assert await read_or_none(node.kube, LEASES, lease_name(ACME)) is None


async def test_a_lease_that_cannot_be_written_comes_with_the_next_renewal(autojump_clock: MockClock) -> None:
    async with open_node(new_double()) as node:
        await node.store.put(spec(), NOW_S)
        await node.kube.delete(LEASES, lease_name(ACME))
        await node.store.renew(ACME, NOW_S + 1)
        assert (await node.kube.get(LEASES, lease_name(ACME))).spec.renew_unix_s == NOW_S + 1


async def test_every_replica_sweeps_and_only_what_nobody_renews_goes(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double, 1) as one, open_node(double, 2) as two, open_node(double, 3) as three:
        nodes = (one, two, three)
        upkeep = (Upkeep(node.view, node.store, Demand.over(()), tuple, unix_s) for node in nodes)
        async with running(*chain.from_iterable(map(duties, upkeep))):
            for name in ("idle", "busy"):
                await one.store.put(spec(name, ttl_seconds=10), unix_s())
            busy = spec("busy").name
            for _ in range(6):
                await trio.sleep(5)
                assert await two.store.renew(busy, unix_s()) is not None
            await trio.sleep(LOOK_S)
            assert [[shown.pool.spec.name for shown in node.view.all_shown(unix_s())] for node in nodes] == [[busy]] * 3
            await trio.sleep(10 + SKEW_S + 2 * LOOK_S)
            assert [len(node.view) for node in nodes] == [0] * 3
            assert (await one.kube.list(LEASES)).items == ()


async def test_what_another_renewed_unseen_does_not_expire(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double, 1) as one, open_node(double, 2) as two:
        seen = await one.store.put(spec(ttl_seconds=10), NOW_S)
        await until(lambda: two.view.find(ACME) == seen)
        double.mute_watches()
        renewed = await one.store.renew(ACME, NOW_S + 60)
        assert two.view.find(ACME) == seen
        assert not await two.store.expire(seen)
        await until(lambda: two.view.find(ACME) == renewed, within_s=1000)


async def test_a_server_that_refuses_to_remove_is_left_in_peace_for_a_while(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double) as node:
        kept = await node.store.put(spec(ttl_seconds=1), NOW_S)
        double.faults.add(Refuse(500), verbs={"delete"})
        assert not await node.store.expire(kept)
        assert not await node.store.expire(kept)
        assert [asked.verb for asked in double.asked].count("delete") == 1
        await trio.sleep(QUIET_S)
        assert await node.store.expire(kept)


async def test_a_lease_that_a_new_pool_has_by_now_stays(autojump_clock: MockClock) -> None:
    async with open_node(new_double()) as node:
        await node.store.put(spec(), NOW_S)
        now = await node.kube.get(CONFIG_MAPS, config_map_name(ACME))
        before = attrs.evolve(now, metadata=attrs.evolve(now.metadata, uid="another"))
        await drop_lease(node.kube, ACME, before)
        await node.kube.get(LEASES, lease_name(ACME))
        await drop_lease(node.kube, ACME, now)
        assert await read_or_none(node.kube, LEASES, lease_name(ACME)) is None


async def test_while_the_server_is_away_known_pools_stay_and_changes_are_refused(autojump_clock: MockClock) -> None:
    async with open_node(new_double()) as node:
        kept = await node.store.put(spec(ttl_seconds=10), unix_s())
        node.transport.blocked = True
        for change in (node.store.put(spec(l4=1), NOW_S), node.store.renew(ACME, NOW_S), node.store.delete(ACME)):
            with pytest.raises(StoreAway):
                await change
        assert not await node.store.expire(kept)
        assert not await node.store.expire(kept)
        await trio.sleep(300)
        assert node.view.find(ACME) == kept
        node.transport.blocked = False
        renewed = await node.store.renew(ACME, unix_s())
        await until(lambda: node.view.find(ACME) == renewed)


async def test_a_gateway_starts_without_the_server_and_learns_the_pools_later(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double) as one:
        kept = await one.store.put(spec(), NOW_S)
        double.faults.add(Hang(), times=3, verbs={"list"})
        async with open_node(double) as two:
            assert len(two.view) == 0
            await until(lambda: two.view.find(ACME) == kept)


async def test_who_is_always_too_late_is_told_so(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double) as node:
        await node.store.put(spec(), NOW_S)
        double.faults.add(Refuse(409), times=ATTEMPTS, verbs={"update"})
        with pytest.raises(StoreAway, match="others were quicker"):
            await node.store.renew(ACME, NOW_S + 1)
        assert await node.store.renew(ACME, NOW_S + 2) == node.view.find(ACME)


async def test_a_conflict_now_and_then_is_nobodys_concern(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double) as node:
        await node.store.put(spec(), NOW_S)
        double.faults.add(Refuse(409), times=3, verbs={"update"})
        assert await node.store.renew(ACME, NOW_S + 1) == Pool(spec(), NOW_S, NOW_S + 1)
        double.faults.add(Refuse(409), times=3, verbs={"delete"})
        assert await node.store.delete(ACME)


@pytest.mark.parametrize(
    "fault", [Refuse(410), Refuse(429, "2"), Refuse(500), Delay(8), Garble(), LoseAnswer(), Mute()]
)
async def test_a_listener_hears_of_everything_once_a_watch_works_again(fault: Fault, autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double, 1) as one, open_node(double, 2) as two:
        await one.store.put(spec("old"), NOW_S)
        double.faults.add(fault, times=4, verbs={"watch", "list"})
        double.cut_watches()
        kept = await one.store.put(spec(), NOW_S)
        assert one.view.find(ACME) == kept
        assert await one.store.delete(spec("old").name)
        double.model.compact()
        await until(lambda: two.view.find(ACME) == kept and len(two.view) == 1, within_s=1000)
        assert one.view.find(ACME) == kept


async def test_an_own_change_is_told_though_the_watch_is_silent(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double) as node:
        double.mute_watches()
        kept = await node.store.put(spec(), NOW_S)
        assert node.view.find(ACME) == kept
        assert await node.store.delete(ACME)
        assert node.view.find(ACME) is None
        kept = await node.store.put(spec(l4=1), NOW_S)
        await node.kube.delete(CONFIG_MAPS, config_map_name(ACME))
        double.model.compact()
        assert node.view.find(ACME) == kept
        await until(lambda: node.view.find(ACME) is None, within_s=1000)


async def changed_past_a_deaf_watch(one: ClusterNode, two: ClusterNode, double: KubeDouble) -> Pool:
    """The watches bring what `two` did while `one` was at it, and nothing after that."""
    double.faults.add(Delay(0.5), verbs={"get"})
    async with trio.open_nursery() as nursery:

        async def deafen() -> None:
            await trio.sleep(0.1)
            await two.store.delete(ACME)
            await trio.sleep(0.1)
            double.mute_watches()

        nursery.start_soon(deafen)
        return await one.store.put(spec(l4=3), unix_s())


async def test_an_own_change_is_told_though_the_watch_went_silent_at_an_older_one(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double, 1) as one, open_node(double, 2) as two:
        await one.store.put(spec(), unix_s())
        kept = await changed_past_a_deaf_watch(one, two, double)
        assert one.view.find(ACME) == kept


async def test_an_own_change_is_told_though_nobody_says_whether_it_is_the_last(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double, 1) as one, open_node(double, 2) as two, trio.open_nursery() as nursery:

        async def silence() -> None:
            await trio.sleep(0.9)
            double.faults.add(Hang(), verbs={"get"}, times=9)

        await one.store.put(spec(), unix_s())
        nursery.start_soon(silence)
        kept = await changed_past_a_deaf_watch(one, two, double)
        assert one.view.find(ACME) == kept


async def test_what_another_made_of_it_since_is_told_though_the_watch_is_silent(autojump_clock: MockClock) -> None:
    double = new_double()
    async with open_node(double, 1) as one, open_node(double, 2) as two, trio.open_nursery() as nursery:

        async def change_again() -> None:
            await trio.sleep(1.0)
            await two.store.put(spec(l4=4), unix_s())

        await one.store.put(spec(), unix_s())
        nursery.start_soon(change_again)
        await changed_past_a_deaf_watch(one, two, double)
        found = one.view.find(ACME)
        assert found is not None
        assert found.spec == spec(l4=4)


async def test_nonsense_is_said_once_and_skipped_until_it_is_mended(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_node(new_double()) as node:
        await node.store.put(spec(), NOW_S)
        other = await node.store.put(spec("other"), NOW_S)
        with caplog.at_level(logging.ERROR):
            for text in ("", "{", "[]", '{"spec": 7}', "x" * 2**19):
                await write_document(node, text)
                await trio.sleep(1)
        assert len(caplog.records) == 1
        assert node.view.find(ACME) is None
        assert node.view.find(other.spec.name) == other
        assert await node.store.renew(ACME, NOW_S) is None
        assert not await node.store.delete(ACME)
        assert (
            await node.store.put(spec(l4=1), NOW_S + 1)
            == node.view.find(ACME)
            == Pool(spec(l4=1), NOW_S + 1, NOW_S + 1)
        )


async def test_an_object_without_the_label_is_no_pool_until_it_is_asked_for_again(autojump_clock: MockClock) -> None:
    async with open_node(new_double()) as node:
        await node.store.put(spec(), NOW_S)
        item = await node.kube.get(CONFIG_MAPS, config_map_name(ACME))
        await node.kube.replace(CONFIG_MAPS, attrs.evolve(item, metadata=attrs.evolve(item.metadata, labels={})))
        await until(lambda: node.view.find(ACME) is None)
        assert await node.store.renew(ACME, NOW_S) is None
        assert await node.store.put(spec(), NOW_S + 1) == node.view.find(ACME)
