"""A gateway's way to the API server: what is blocked comes late, a server that is down refuses, a rival is quicker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.kube.api import Kube
from sie.kube.core.documents import CONFIG_MAPS
from sie.kube.core.errors import Conflict, Unavailable
from sie.kube.core.values import ConfigMap, Event, Metadata
from sie.testing.cluster.kube_server import BEHIND_S, RIVAL_MARK, KubeLink, KubeServer
from sie.testing.cluster.machine import work_in_place

NAME = "sie-pool-acme"
POOL = ConfigMap(Metadata(NAME), {"a": "b"})


@attrs.define(eq=False)
class Ways:
    """Two gateways' on one server."""

    server: KubeServer
    one: Kube
    two: Kube

    @property
    def link(self) -> KubeLink:
        return self.server.link("one")


@asynccontextmanager
async def opened() -> AsyncIterator[Ways]:
    async with trio.open_nursery() as nursery:
        server = KubeServer.of(1, nursery)
        ways = [server.link(name).open_kube()(None, work_in_place) for name in ("one", "two")]
        async with ways[0] as one, ways[1] as two:
            yield Ways(server, one, two)
        nursery.cancel_scope.cancel()


async def test_a_call_is_answered_once_the_way_is_open_again(autojump_clock: MockClock) -> None:
    async with opened() as ways, trio.open_nursery() as nursery:
        ways.link.block(blocked=True)
        nursery.start_soon(ways.one.create, CONFIG_MAPS, POOL)
        await trio.sleep(5)
        assert (await ways.two.list(CONFIG_MAPS)).items == ()
        assert ways.link.away_since_s is not None
        ways.link.block(blocked=False)
        await trio.sleep(0.1)
        assert len((await ways.two.list(CONFIG_MAPS)).items) == 1
        assert ways.link.away_since_s is None


async def test_a_watch_tells_late_what_happened_while_the_way_was_blocked(autojump_clock: MockClock) -> None:
    seen: list[Event[ConfigMap]] = []
    async with opened() as ways, trio.open_nursery() as nursery:

        async def watch() -> None:
            await ways.one.watch_once(CONFIG_MAPS, seen.extend, resource_version="7", span_s=60)

        nursery.start_soon(watch)
        await trio.sleep(1)
        ways.link.block(blocked=True)
        await ways.two.create(CONFIG_MAPS, POOL)
        await trio.sleep(5)
        assert seen == []
        ways.link.block(blocked=False)
        await trio.sleep(0.1)
        assert len(seen) == 1
        nursery.cancel_scope.cancel()


async def test_a_server_that_goes_down_ends_its_watches_and_refuses(autojump_clock: MockClock) -> None:
    async with opened() as ways, trio.open_nursery() as nursery:

        async def watch() -> None:
            with pytest.raises(Unavailable):
                await ways.one.watch_once(CONFIG_MAPS, lambda _: None, resource_version="7", span_s=60)

        nursery.start_soon(watch)
        await trio.sleep(1)
        ways.server.stop()
        with pytest.raises(Unavailable):
            await ways.two.list(CONFIG_MAPS)
        ways.server.start()
        assert (await ways.two.list(CONFIG_MAPS)).items == ()


async def test_a_rival_is_quicker_as_often_as_was_said(autojump_clock: MockClock) -> None:
    async with opened() as ways:
        held = await ways.one.create(CONFIG_MAPS, POOL)
        ways.server.rivals = 1
        with pytest.raises(Conflict):
            await ways.one.replace(CONFIG_MAPS, attrs.evolve(held, data={"a": "c"}))
        rival = await ways.one.get(CONFIG_MAPS, NAME)
        assert rival.data == POOL.data
        assert RIVAL_MARK in rival.metadata.annotations
        await ways.one.replace(CONFIG_MAPS, attrs.evolve(rival, data={"a": "c"}))


async def test_a_gateway_must_know_what_is_there_only_when_nothing_hindered_it(autojump_clock: MockClock) -> None:
    async with opened() as ways:
        await trio.sleep(10)
        assert ways.server.is_fair()
        ways.server.stop()
        ways.server.start()
        assert not ways.server.is_fair()
        await trio.sleep(BEHIND_S)
        assert ways.server.is_fair()
