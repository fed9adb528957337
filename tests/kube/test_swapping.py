"""Compare and swap: no change is lost to another writer, the number of tries is bounded, what was made or deleted in
between is read again.
"""

from collections.abc import Callable

import attrs
import pytest
import trio
from trio.testing import MockClock

from sie.kube.core.documents import CONFIG_MAPS
from sie.kube.core.errors import Conflict, NotFound, Unavailable
from sie.kube.core.values import ConfigMap
from sie.kube.swapping import ATTEMPTS, compare_and_swap
from sie.testing.kube.faults import LoseAnswer, Refuse
from sie.testing.kube.resources import CONFIG_MAPS as RESOURCE
from tests.kube.opening import Opened, named, opened


def half() -> float:
    return 0.5


def counted(item: ConfigMap | None) -> ConfigMap:
    if item is None:
        return named("count", n="1")
    return attrs.evolve(item, data={"n": str(int(item.data["n"]) + 1)})


async def count(on: Opened, times: int) -> None:
    for _ in range(times):
        await compare_and_swap(on.kube, CONFIG_MAPS, "count", counted, luck=half, attempts=100)


async def test_several_writers_lose_nothing(autojump_clock: MockClock) -> None:
    async with opened() as on:
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(count, on, 5)
        assert (await on.kube.get(CONFIG_MAPS, "count")).data == {"n": "20"}


async def test_who_is_always_too_late_ends_in_a_conflict(autojump_clock: MockClock) -> None:
    async with opened() as on:
        await on.kube.create(CONFIG_MAPS, named("count", n="1"))
        on.double.faults.add(Refuse(409), times=1000, verbs={"update"})
        with pytest.raises(Conflict, match="10 times"):
            await compare_and_swap(on.kube, CONFIG_MAPS, "count", counted, luck=half)
        assert [asked.verb for asked in on.double.asked].count("update") == ATTEMPTS


async def test_what_was_deleted_in_between_is_made_anew(autojump_clock: MockClock) -> None:
    async with opened() as on:
        await on.kube.create(CONFIG_MAPS, named("count", n="5"))

        def deleting(item: ConfigMap | None) -> ConfigMap:
            if item is not None:
                on.double.model.delete(RESOURCE, "default", "count")
            return counted(item)

        made = await compare_and_swap(on.kube, CONFIG_MAPS, "count", deleting, luck=half)
        assert made is not None
        assert made.data == {"n": "1"}


def unchanged(item: ConfigMap | None) -> ConfigMap | None:
    return item


def nothing(_: ConfigMap | None) -> ConfigMap | None:
    return None


@pytest.mark.parametrize("change", [nothing, unchanged])
async def test_a_change_of_nothing_writes_nothing(change: Callable[[ConfigMap | None], ConfigMap | None]) -> None:
    async with opened() as on:
        there = await on.kube.create(CONFIG_MAPS, named("a"))
        assert await compare_and_swap(on.kube, CONFIG_MAPS, "a", change, luck=half) == there
        assert await compare_and_swap(on.kube, CONFIG_MAPS, "b", change, luck=half) is None
        assert {asked.verb for asked in on.double.asked} == {"create", "get"}


async def test_an_unknown_outcome_is_not_tried_again() -> None:
    async with opened() as on:
        await on.kube.create(CONFIG_MAPS, named("count", n="1"))
        on.double.faults.add(LoseAnswer(), verbs={"update"})
        with pytest.raises(Unavailable):
            await compare_and_swap(on.kube, CONFIG_MAPS, "count", counted, luck=half)
        assert (await on.kube.get(CONFIG_MAPS, "count")).data == {"n": "2"}


async def test_a_change_that_drops_the_version_is_a_fault_of_its_writer() -> None:
    async with opened() as on:
        await on.kube.create(CONFIG_MAPS, named("a"))
        with pytest.raises(ValueError, match="resource version"):
            await compare_and_swap(on.kube, CONFIG_MAPS, "a", lambda _: named("a", key="x"), luck=half)


async def test_a_namespace_that_is_not_there_is_not_found() -> None:
    async with opened() as on:
        on.double.model.namespaces.clear()
        with pytest.raises(NotFound):
            await compare_and_swap(on.kube, CONFIG_MAPS, "count", counted, luck=half)
