"""An own change is told in its turn, beforehand where a watch is late, and never over what is newer."""

import attrs
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from sie.domain.ids import PoolName
from sie.domain.pool import Pool
from sie.gateway.core.pool_documents import with_spec
from sie.gateway.pools.telling import Telling
from sie.kube.core.values import ConfigMap, Listing, Put
from tests.gateway.pools.store_contract import ACME, spec


@attrs.define
class Heard:
    """Renewal times, in the order told; None where the pool was gone."""

    times: list[float | None] = attrs.field(factory=list)

    def kept(self, pool: Pool) -> None:
        self.times.append(pool.renewed_s)

    def gone(self, name: PoolName) -> None:
        assert name == ACME
        self.times.append(None)


def item(at: int) -> ConfigMap:
    """Renewed then, with the version of that number."""
    made = with_spec(None, spec(), float(at))
    return attrs.evolve(made, metadata=attrs.evolve(made.metadata, uid="u", resource_version=str(at)))


async def test_an_own_change_is_told_after_those_before_it(autojump_clock: MockClock) -> None:
    heard = Heard()
    telling = Telling(heard)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(telling.written, item(10), None)
        await wait_all_tasks_blocked()
        for at in (9, 10):
            telling.mirror.receive(Put(item(at)))
            telling.changed((Put(item(at)),))
    assert heard.times == [9, 10]


async def test_a_late_watch_is_told_ahead_of(autojump_clock: MockClock) -> None:
    heard = Heard()
    await Telling(heard).written(item(10), None)
    assert heard.times == [10]


async def test_what_a_listing_brought_is_not_undone_by_an_own_older_change(autojump_clock: MockClock) -> None:
    heard = Heard()
    telling = Telling(heard)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(telling.written, item(10), None)
        await wait_all_tasks_blocked()
        telling.changed(telling.mirror.relisted(Listing((item(12),), "12")))
    assert heard.times == [12]
