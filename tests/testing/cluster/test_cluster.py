"""A whole cluster comes up in one run, answers, and lets go of what its processes held."""

import logging
from collections.abc import Awaitable, Callable, Iterator

import pytest
import trio
from trio.testing import MockClock

from sie.testing.cluster.catalogue import ADDED, OTHER, SIDE, SMALL, CatalogueFolders
from sie.testing.cluster.client import Ask
from sie.testing.cluster.cluster import Cluster, open_cluster
from sie.testing.cluster.topology import Topology
from sie.testing.cluster.writes import Write
from sie.testing.simulation.clients import Clients
from sie.testing.simulation.writers import Writers


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


def test_a_write_reaches_every_gateway_at_once_and_is_served(folders: CatalogueFolders) -> None:
    async def act(cluster: Cluster) -> None:
        clients, writers = Clients(cluster), Writers(cluster)
        assert (await writers.write(Write("post", ADDED)))[0] == "done"
        await trio.sleep(5)
        assert [await clients.ask(Ask(number, ADDED, 1)) for number in (0, 1)] == ["answered"] * 2

    play(folders, Topology(gateways=2), act)


def test_a_write_that_was_acknowledged_outlives_the_process(folders: CatalogueFolders) -> None:
    async def act(cluster: Cluster) -> None:
        writers = Writers(cluster)
        assert (await writers.write(Write("post", SIDE)))[0] == "done"
        await cluster.config.process.kill()
        cluster.start(cluster.config)
        await trio.sleep(1)
        assert await cluster.read_authority()
        assert "w1" in cluster.config.exported.profiles[SIDE]

    play(folders, Topology(), act)


def test_a_process_that_dies_in_a_call_to_the_disk_comes_back(folders: CatalogueFolders) -> None:
    async def act(cluster: Cluster) -> None:
        writers = Writers(cluster)
        cluster.config.commits.append("dies after")
        assert (await writers.write(Write("post", SIDE)))[0] == "lost"
        await trio.sleep(5)
        assert await cluster.read_authority()
        assert cluster.config.exported.epoch == cluster.rules.history.epoch == 1

    play(folders, Topology(), act)


def test_a_rival_and_its_elder_never_share_an_epoch(folders: CatalogueFolders) -> None:
    async def act(cluster: Cluster) -> None:
        writers = Writers(cluster)
        cluster.start(cluster.rival)
        await trio.sleep(1)
        endings = [(await writers.write(Write("post", SIDE, config=number)))[0] for number in (0, 1, 1, 0, 0)]
        assert endings == ["done", "refused", "done", "refused", "done"]
        assert [commit.epoch for commit in cluster.rules.history.commits] == [1, 2, 3]

    play(folders, Topology(), act)
