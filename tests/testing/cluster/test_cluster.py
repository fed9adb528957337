"""A whole cluster comes up in one run, answers, and lets go of what its processes held."""

import logging
from collections.abc import Awaitable, Callable, Iterator

import pytest
import trio
from trio.testing import MockClock

from sie.testing.cluster.catalogue import OTHER, SMALL, CatalogueFolders
from sie.testing.cluster.client import Ask
from sie.testing.cluster.cluster import Cluster, Topology, open_cluster
from sie.testing.simulation.clients import Clients


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> CatalogueFolders:
    return CatalogueFolders.write(tmp_path_factory.mktemp("catalogue"))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def play(folders: CatalogueFolders, topology: Topology, act: Callable[[Cluster], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_cluster(topology, 1, folders) as cluster:
            assert await cluster.wait_until(cluster.is_ready, 60)
            await act(cluster)
            assert cluster.ledger.violations == []

    trio.run(run, clock=MockClock(autojump_threshold=0))


async def nothing(_: Cluster) -> None:
    return


def test_a_cluster_comes_up_with_every_process_ready(folders: CatalogueFolders) -> None:
    play(folders, Topology(gateways=2, workers=2), nothing)


def test_every_gateway_answers_from_every_worker(folders: CatalogueFolders) -> None:
    async def act(cluster: Cluster) -> None:
        clients = Clients(cluster)
        endings = [await clients.ask(Ask(number, model, 3)) for number in (0, 1) for model in (SMALL, OTHER)]
        assert endings == ["answered"] * 4

    play(folders, Topology(gateways=2, workers=2), act)


def test_a_killed_worker_loses_no_work(folders: CatalogueFolders) -> None:
    async def act(cluster: Cluster) -> None:
        clients = Clients(cluster)
        cluster.worker(0).device.slowness_s = 1.0
        clients.ask_soon(Ask(0, SMALL, 3, clients=4))
        await trio.sleep(0.5)
        await cluster.worker(0).process.kill()
        cluster.start(cluster.worker(0))
        assert await cluster.wait_until(lambda: not clients.waiting, 60)
        assert clients.endings == {"answered": 4}

    play(folders, Topology(), act)


def test_a_client_that_leaves_leaves_nothing_behind(folders: CatalogueFolders) -> None:
    async def act(cluster: Cluster) -> None:
        clients = Clients(cluster)
        cluster.worker(0).device.slowness_s = 5.0
        clients.ask_soon(Ask(0, SMALL, 3, leaves_after_s=1.0))
        await trio.sleep(2)
        assert (await cluster.health(cluster.gateway(0)))["in flight"] == 0
        assert await cluster.wait_until(lambda: not any(cluster.unrest()), 30)

    play(folders, Topology(), act)
