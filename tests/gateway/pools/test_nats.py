"""Pools in a broker's bucket: the contract of every store, gateways that agree, and a broker that goes away or forgets.

Against a real nats-server, and beside nats-py's own key-value client.
"""

import logging
import shutil
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from random import Random

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.bus.api import BusError
from sie.bus.jetstream import call_api
from sie.bus.key_value import KeyValue
from sie.bus.key_value_api import Entry, key_subject
from sie.bus.request import request
from sie.domain.ids import PoolName
from sie.domain.pool import Pool
from sie.gateway.core.pool_documents import write_pool_text
from sie.gateway.core.pool_keys import pool_in
from sie.gateway.core.pool_view import PoolView
from sie.gateway.pools.api import StoreAway
from sie.gateway.pools.nats import ATTEMPTS, FIRST_LISTING_S, open_nats_pools
from sie.testing.nats_server import NatsServer, open_nats_server
from tests.gateway.doubles import ScriptedBus
from tests.gateway.pools.bucketed import BUCKET, BucketNode, in_a_bucket, known, open_bucket_node, until
from tests.gateway.pools.store_contract import ACME, CHECKS, NOW_S, Check, spec


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    async with open_nats_server(store_dir=tmp_path) as started:
        yield started


async def write_by_hand(node: BucketNode, key: str, text: str) -> None:
    await request(node.bus, key_subject(BUCKET, key), text.encode(), timeout_s=5)


async def consumers(node: BucketNode) -> list[object]:
    names = (await call_api(node.bus, f"CONSUMER.NAMES.KV_{BUCKET}"))["consumers"]
    assert isinstance(names, list)
    return names


@pytest.mark.parametrize("check", CHECKS, ids=[check.claim for check in CHECKS])
async def test_a_bucket_keeps_the_contract(check: Check, tmp_path: Path) -> None:
    async with in_a_bucket(tmp_path) as node:
        await check.holds(node)


async def test_gateways_of_a_broker_know_each_others_pools(server: NatsServer) -> None:
    async with open_bucket_node(server, 1) as one, open_bucket_node(server, 2) as two:
        kept = await one.store.put(spec(l4=1), NOW_S)
        await until(lambda: two.view.find(ACME) == kept)
        renewed = await two.store.renew(ACME, NOW_S + 5)
        await until(lambda: one.view.find(ACME) == renewed)
        assert await two.store.delete(ACME)
        await until(lambda: one.view.find(ACME) is None)
        assert not await one.store.delete(ACME)


async def test_a_gateway_that_starts_knows_the_pools_that_are_there(server: NatsServer) -> None:
    async with open_bucket_node(server, 1) as one:
        kept = await one.store.put(spec(l4=1), NOW_S)
        await one.store.put(spec("other"), NOW_S)
        await one.store.delete(spec("other").name)
        async with open_bucket_node(server, 2) as two:
            assert known(two) == (kept,)


async def test_what_another_renewed_unseen_does_not_expire(server: NatsServer) -> None:
    async with open_bucket_node(server, 1) as one, open_bucket_node(server, 2) as two:
        seen = await one.store.put(spec(ttl_seconds=10), NOW_S)
        await until(lambda: two.view.find(ACME) == seen)
        for name in await consumers(one):
            await call_api(one.bus, f"CONSUMER.DELETE.KV_{BUCKET}.{name}")
        await one.store.renew(ACME, NOW_S + 60)
        assert two.view.find(ACME) == seen
        assert not await two.store.expire(seen)


async def test_a_watch_that_died_is_noticed_and_what_was_missed_is_heard(server: NatsServer) -> None:
    async with open_bucket_node(server, 1) as one, open_bucket_node(server, 2) as two:
        old = await one.store.put(spec("old"), NOW_S)
        await until(lambda: known(two) == (old,))
        for name in await consumers(one):
            await call_api(one.bus, f"CONSUMER.DELETE.KV_{BUCKET}.{name}")
        kept = await one.store.put(spec(), NOW_S)
        assert await one.store.delete(old.spec.name)
        await until(lambda: known(two) == (kept,))


async def test_while_the_broker_is_away_known_pools_stay_and_changes_are_refused(server: NatsServer) -> None:
    async with open_bucket_node(server) as node:
        kept = await node.store.put(spec(ttl_seconds=10), NOW_S)
        await server.kill()
        await until(lambda: not node.bus.session)
        for change in (node.store.put(spec(l4=1), NOW_S), node.store.renew(ACME, NOW_S), node.store.delete(ACME)):
            with pytest.raises(StoreAway):
                await change
        assert not await node.store.expire(kept)
        assert node.view.find(ACME) == kept
        await server.start()
        await node.bus.wait_session()
        assert await node.store.renew(ACME, NOW_S + 1) == node.view.find(ACME) == Pool(kept.spec, NOW_S, NOW_S + 1)


async def test_a_broker_that_comes_back_tells_what_happened_meanwhile(server: NatsServer) -> None:
    async with open_bucket_node(server, 1) as one, open_bucket_node(server, 2) as two:
        for name in ("acme", "old"):
            await one.store.put(spec(name), NOW_S)
        await until(lambda: len(two.view) == 2)
        await server.restart()
        await one.bus.wait_session()
        with trio.fail_after(20):
            kept = await one.store.put(spec(l4=1), NOW_S + 1)
            assert await one.store.delete(PoolName("old"))
        await until(lambda: known(two) == (kept,))


async def test_a_gateway_starts_without_the_broker_and_its_pools_cannot_be_changed(autojump_clock: MockClock) -> None:
    kv = KeyValue(ScriptedBus("_INBOX.gw", session=0), BUCKET)
    async with open_nats_pools(kv, PoolView(), luck=Random(0).random) as store:
        assert trio.current_time() >= FIRST_LISTING_S
        with pytest.raises(StoreAway):
            await store.put(spec("other"), NOW_S)


async def test_a_gateway_learns_the_pools_once_the_broker_is_there(server: NatsServer) -> None:
    async with open_bucket_node(server) as one:
        kept = await one.store.put(spec(), NOW_S)
    await server.kill()
    async with trio.open_nursery() as nursery:

        async def learn() -> None:
            async with open_bucket_node(server) as two:
                await until(lambda: known(two) == (kept,))

        nursery.start_soon(learn)
        await server.start()


async def test_pools_of_a_bucket_that_was_lost_are_put_again_by_whoever_knows_them(server: NatsServer) -> None:
    async with open_bucket_node(server, 1) as one, open_bucket_node(server, 2) as two:
        kept = [await one.store.put(spec(name), NOW_S) for name in ("a", "b")]
        assert await one.store.renew(PoolName("b"), NOW_S + 1) is not None
        await until(lambda: known(two) == known(one))
        await server.kill()
        shutil.rmtree(server.store_dir / "jetstream")
        await server.start()
        async with open_bucket_node(server, 3) as three:
            await until(lambda: known(one) == known(two) == known(three) == (kept[0], kept[1].renewed(NOW_S + 1)))
            renewed = await two.store.renew(PoolName("a"), NOW_S + 2)
            await until(lambda: all(node.view.find(PoolName("a")) == renewed for node in (one, two, three)))


async def test_a_bucket_that_was_removed_under_way_comes_back_and_none_takes_its_revisions_for_the_old_ones(
    server: NatsServer,
) -> None:
    async with open_bucket_node(server, 1) as one, open_bucket_node(server, 2) as two:
        for step in range(9):
            await one.store.put(spec(), NOW_S + step)
        await call_api(one.bus, f"STREAM.DELETE.KV_{BUCKET}")
        with pytest.raises(StoreAway):
            await one.store.renew(ACME, NOW_S + 10)
        await until(lambda: one.store.following.revisions.newest == 1)
        renewed = await one.store.renew(ACME, NOW_S + 10)
        with pytest.raises(StoreAway, match="does not have what it had"):
            await two.store.renew(ACME, NOW_S)
        await until(lambda: two.view.find(ACME) == one.view.find(ACME) == renewed)


async def test_what_an_operator_purged_is_gone(server: NatsServer) -> None:
    async with open_bucket_node(server, 1, relist_s=0.5) as one, open_bucket_node(server, 2, relist_s=0.5) as two:
        await one.store.put(spec(), NOW_S)
        await until(lambda: len(two.view) == 1)
        await call_api(one.bus, f"STREAM.PURGE.KV_{BUCKET}")
        await until(lambda: known(one) == known(two) == ())
        kept = await two.store.put(spec(l4=1), NOW_S + 9)
        assert kept == two.view.find(ACME) == Pool(spec(l4=1), NOW_S + 9, NOW_S + 9)


@attrs.frozen
class Outrun(KeyValue):
    """Another renews whatever this one has just read, `times` times."""

    times: list[int] = attrs.field(factory=list)

    async def get(self, key: str) -> Entry | None:
        entry = await KeyValue.get(self, key)
        if entry is not None and entry.value is not None and self.times[0]:
            self.times[0] -= 1
            await request(self.bus, key_subject(self.bucket, key), entry.value, timeout_s=5)
        return entry


async def test_who_is_always_too_late_is_told_so_and_now_and_then_it_is_nobodys_concern(server: NatsServer) -> None:
    async with open_bucket_node(server) as node:
        await node.store.put(spec(), NOW_S)
        for change in (node.store.renew(ACME, NOW_S + 1), node.store.delete(ACME)):
            node.store.kv, node.store.luck = Outrun(node.bus, BUCKET, times=[ATTEMPTS]), lambda: 0.0
            with pytest.raises(StoreAway, match="others were quicker"):
                await change
        node.store.kv = Outrun(node.bus, BUCKET, times=[3])
        assert await node.store.renew(ACME, NOW_S + 1) == node.view.find(ACME) == Pool(spec(), NOW_S, NOW_S + 1)
        node.store.kv = Outrun(node.bus, BUCKET, times=[3])
        assert await node.store.delete(ACME)


async def test_nonsense_is_said_once_and_skipped_until_it_is_mended(
    server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bucket_node(server, relist_s=0.2) as node:
        await node.store.put(spec(), NOW_S)
        other = await node.store.put(spec("other"), NOW_S)
        with caplog.at_level(logging.ERROR):
            for text in ("", "{", "[]", '{"spec": 7}', "x" * 2**19, write_pool_text(other).decode()):
                await write_by_hand(node, "acme", text)
            await until(lambda: known(node) == (other,))
            await write_by_hand(node, "no/pool.at-all", "{")
            await until(lambda: len(caplog.records) > 1)
        assert [record.__dict__["object"] for record in caplog.records] == ["acme", "no/pool.at-all"]
        assert await node.store.renew(ACME, NOW_S) is None
        assert not await node.store.delete(ACME)
        kept = await node.store.put(spec(l4=1), NOW_S + 1)
        assert kept == node.view.find(ACME) == Pool(spec(l4=1), NOW_S + 1, NOW_S + 1)


async def operate(node: BucketNode, luck: Random) -> None:
    name, now_s = PoolName(luck.choice(("a", "b_", "c-"))), NOW_S + luck.uniform(0, 100)
    match luck.randrange(6):
        case 0 | 1:
            await node.store.put(spec(name, luck.choice((5, 50)), l4=luck.randrange(3)), now_s)
        case 2:
            await node.store.renew(name, now_s)
        case 3:
            await node.store.delete(name)
        case 4:
            for pool in node.view.over(now_s):
                await node.store.expire(pool)
        case _:
            await write_by_hand(node, name, luck.choice(("", "{", '{"spec": {}}')))


async def kept(node: BucketNode) -> tuple[Pool, ...]:
    """What the broker holds."""
    entries = [await node.kv.get(name) for name in ("a", "b_", "c-")]
    pools = [pool for entry in entries if (pool := pool_in(entry)) is not None]
    return tuple(sorted(pools, key=lambda pool: pool.spec.name))


async def agree(nodes: tuple[BucketNode, ...]) -> None:
    truth = await kept(nodes[0])
    await until(lambda: all(known(node) == truth for node in nodes))


async def test_two_gateways_agree_after_each_of_500_operations(server: NatsServer) -> None:
    luck = Random(7)
    async with open_bucket_node(server, 1) as one, open_bucket_node(server, 2) as two:
        for _ in range(500):
            await operate(luck.choice((one, two)), luck)
            await agree((one, two))


async def test_three_gateways_that_change_pools_at_once_agree(server: NatsServer) -> None:
    luck = Random(8)
    async with (
        open_bucket_node(server, 1) as one,
        open_bucket_node(server, 2) as two,
        open_bucket_node(server, 3, relist_s=0.02) as three,
    ):
        for _ in range(40):
            async with trio.open_nursery() as nursery:
                for node in (one, two, three, one, two, three):
                    nursery.start_soon(operate, node, Random(luck.random()))
            await agree((one, two, three))


async def test_gateways_agree_once_the_broker_is_left_in_peace(server: NatsServer) -> None:
    luck = Random(9)

    async def tolerant(node: BucketNode) -> None:
        with suppress(StoreAway, BusError):
            await operate(node, luck)

    async with open_bucket_node(server, 1) as one, open_bucket_node(server, 2) as two:
        for _ in range(2):
            async with trio.open_nursery() as nursery:
                for node in (one, two) * 8:
                    nursery.start_soon(tolerant, node)
                nursery.start_soon(server.restart)
            for node in (one, two):
                await node.bus.wait_session()
            await agree((one, two))
