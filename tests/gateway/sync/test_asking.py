"""A gateway that has just come knows its workers at once, since it asks them (§8): in a cluster, over the broker."""

import logging
from collections.abc import Iterator

import pytest
import trio
from trio.testing import MockClock

from sie.testing.cluster.catalogue import SMALL, CatalogueFolders
from sie.testing.cluster.client import Ask
from sie.testing.cluster.cluster import open_cluster
from sie.testing.cluster.topology import Topology
from sie.testing.simulation.clients import Clients


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_a_gateway_that_comes_again_need_not_wait_for_the_next_beats(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each time at another moment between two beats, of which none is as near as the gateway's first request."""
    folders = CatalogueFolders.write(tmp_path_factory.mktemp("catalogue"))

    async def run() -> None:
        async with open_cluster(Topology(workers=2), 1, folders) as cluster:
            assert await cluster.wait_until(cluster.is_ready, 60)
            gateway = cluster.gateway(0)
            for moment in range(5):
                await gateway.process.stop()
                await trio.sleep(0.3 * moment)
                cluster.start(gateway)
                await trio.sleep(0.2)
                assert (await cluster.health(gateway))["workers"] == 2
                assert await Clients(cluster).ask(Ask(0, SMALL, 3)) == "answered"

    trio.run(run, clock=MockClock(autojump_threshold=0))
