"""An endless watch: what it tells, what it survives, and how often it asks while the server is away."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.kube.core.documents import CONFIG_MAPS
from sie.kube.core.mirror import Mirror
from sie.kube.core.rewatching import CAP_S, Ended
from sie.kube.core.values import Change, ConfigMap, Put
from sie.kube.watching import Watch, watch_forever
from sie.testing.kube.faults import Refuse
from sie.testing.kube.resources import CONFIG_MAPS as RESOURCE
from tests.kube.opening import Opened, named, opened


@attrs.define
class Followed:
    on: Opened
    mirror: Mirror[ConfigMap] = attrs.field(factory=Mirror)
    told: list[str] = attrs.field(factory=list)
    ends: list[Ended] = attrs.field(factory=list)

    def changed(self, changes: tuple[Change[ConfigMap], ...]) -> None:
        self.told += [f"{'+' if isinstance(change, Put) else '-'}{change.item.metadata.name}" for change in changes]

    @property
    def verbs(self) -> list[str]:
        return [asked.verb for asked in self.on.double.asked]


@asynccontextmanager
async def following() -> AsyncIterator[Followed]:
    async with opened() as on, trio.open_nursery() as nursery:
        followed = Followed(on)
        watch = Watch(CONFIG_MAPS, followed.mirror, followed.changed, lambda: 0.5, ended=followed.ends.append)
        await nursery.start(partial(watch_forever, on.kube, watch))
        await trio.sleep(0.1)
        yield followed
        nursery.cancel_scope.cancel()


async def test_it_tells_what_happens_once(autojump_clock: MockClock) -> None:
    async with following() as followed:
        kube = followed.on.kube
        made = await kube.create(CONFIG_MAPS, named("a"))
        await kube.replace(CONFIG_MAPS, attrs.evolve(made, data={"key": "x"}))
        await kube.delete(CONFIG_MAPS, "a")
        await trio.sleep(1)
        assert followed.told == ["+a", "+a", "-a"]


async def test_an_expired_watch_is_listed_anew_and_shows_what_was_deleted_meanwhile(autojump_clock: MockClock) -> None:
    async with following() as followed:
        double = followed.on.double
        await followed.on.kube.create(CONFIG_MAPS, named("a"))
        await trio.sleep(1)
        double.expire_watches()
        double.faults.add(Refuse(503), times=3, verbs={"list"})
        await trio.sleep(0.1)
        double.model.delete(RESOURCE, "default", "a")
        double.model.compact()
        await trio.sleep(60)
        assert followed.told == ["+a", "-a"]


async def test_a_cut_watch_goes_on_where_it_was(autojump_clock: MockClock) -> None:
    async with following() as followed:
        followed.on.double.cut_watches()
        await trio.sleep(0.01)
        await followed.on.kube.create(CONFIG_MAPS, named("a"))
        await trio.sleep(5)
        assert followed.told == ["+a"]
        assert followed.verbs.count("list") == 1


async def test_a_quiet_hour_is_one_listing_and_about_sixty_watches(autojump_clock: MockClock) -> None:
    async with following() as followed:
        await trio.sleep(3600)
        assert followed.verbs.count("list") == 1
        assert 50 <= followed.verbs.count("watch") <= 70
        assert {ended.error for ended in followed.ends} == {None}


@pytest.mark.parametrize("code", [410, 429, 500, 403])
async def test_a_server_that_always_refuses_is_asked_ever_more_rarely(autojump_clock: MockClock, code: int) -> None:
    async with following() as followed:
        await followed.on.kube.create(CONFIG_MAPS, named("a"))
        await trio.sleep(1)
        followed.on.double.faults.add(Refuse(code), times=10_000, verbs={"list", "watch"})
        followed.on.double.cut_watches()
        before = len(followed.verbs)
        await trio.sleep(3600)
        assert len(followed.verbs) - before <= 2 * 3600 / CAP_S + 20
        assert followed.mirror.items.keys() == {"a"}  # what was known stays


async def test_a_history_that_is_always_gone_is_no_hot_loop(autojump_clock: MockClock) -> None:
    """The listing works each time, and the watch from it never does."""
    async with following() as followed:
        followed.on.double.faults.add(Refuse(410), times=10_000, verbs={"watch"})
        followed.on.double.expire_watches()
        before = len(followed.verbs)
        await trio.sleep(600)
        assert len(followed.verbs) - before <= 100


async def test_a_server_restored_from_an_older_state_is_listed_in_the_end(autojump_clock: MockClock) -> None:
    """It has not come to our version yet, and never says that it is gone."""
    async with following() as followed:
        model = followed.on.double.model
        await followed.on.kube.create(CONFIG_MAPS, named("a"))
        await trio.sleep(1)
        followed.mirror.resource_version = str(model.revision + 1000)
        followed.on.double.cut_watches()
        model.delete(RESOURCE, "default", "a")
        followed.mirror.resource_version = str(model.revision + 1000)
        await trio.sleep(120)
        assert followed.mirror.items == {}
