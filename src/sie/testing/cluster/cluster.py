"""A whole cluster in one `trio.run`: gateways, the config service and workers, started, healed and looked at.

Everything runs in the cluster's one nursery; a service that fails by itself ends the run with its error.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import cache, partial

import attrs
import trio

from sie.bus.jetstream_api import Storage
from sie.config.app import load
from sie.config.settings import ConfigSettings
from sie.domain.ids import DEFAULT_POOL, BundleName
from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.cluster.events import EventLog
from sie.testing.cluster.ledger import Ledger
from sie.testing.cluster.network import Network
from sie.testing.cluster.nodes import ConfigNode, GatewayNode, Node, Surroundings, WorkerNode
from sie.testing.cluster.served import Call

LOOK_S = 0.5
"""Between two looks at whether something has come true."""

CONFIG_DELAY_S = 0.05
"""The config service is the last to come up, so that everybody has to ask twice."""


@attrs.frozen
class Topology:
    """`storage` is where the broker keeps work."""

    gateways: int = 1
    workers: int = 1
    storage: Storage = "memory"


class Cluster:
    """Every process of it, and what is known of them from outside."""

    def __init__(self, topology: Topology, seed: int, folders: CatalogueFolders, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        self.log = EventLog()
        self.ledger = Ledger(lambda edition: expected_hash(folders, edition))
        self.network = Network(seed)
        around = Surroundings(seed, self.network, self.ledger, self.log, topology.storage)
        self.config = ConfigNode(around, folders)
        self.gateways = tuple(GatewayNode(f"gateway-{n}", around, self.config) for n in range(topology.gateways))
        self.workers = tuple(WorkerNode(f"worker-{n}", around, self.config) for n in range(topology.workers))

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.config, *self.gateways, *self.workers)

    @property
    def connected_nodes(self) -> tuple[GatewayNode | WorkerNode, ...]:
        """Those that have a connection to the broker."""
        return (*self.gateways, *self.workers)

    def node(self, number: int) -> Node:
        return self.nodes[number % len(self.nodes)]

    def connected(self, number: int) -> GatewayNode | WorkerNode:
        return self.connected_nodes[number % len(self.connected_nodes)]

    def gateway(self, number: int) -> GatewayNode:
        return self.gateways[number % len(self.gateways)]

    def worker(self, number: int) -> WorkerNode:
        return self.workers[number % len(self.workers)]

    def start(self, node: Node) -> None:
        if node.process.life is None:
            node.process.start(self.nursery)

    def later(self, in_s: float, do: Callable[[], None]) -> None:
        self.nursery.start_soon(_do_later, in_s, do)

    def heal(self) -> None:
        """End every fault that lasts. Processes are left as they are."""
        self.network.heal()
        for node in self.connected_nodes:
            node.link.heal()
            node.clock.skew_s = 0.0
            if node.process.life is not None:
                node.process.life.tap.heal()
        for worker in self.workers:
            worker.device.heal()

    async def restart_stale(self) -> None:
        """What an operator does: start what is down, and again what holds an old catalogue or gave a model up."""
        self.start(self.config)
        for node in self.connected_nodes:
            old = node.link.read_edition not in (0, self.config.edition)
            if old or (isinstance(node, WorkerNode) and node.facts.has_failed):
                await node.process.stop()
            self.start(node)

    async def wait_until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """False: it did not come true in time."""
        with trio.move_on_after(limit_s):
            while not condition():  # noqa: ASYNC110 - the clock jumps
                await trio.sleep(LOOK_S)
            return True
        return condition()

    def unrest(self) -> Iterator[str]:
        """What processes still hold of requests, a line each."""
        for gateway in self.gateways:
            life = gateway.process.life
            if life is not None and life.tap.correlations:
                yield f"{gateway.process.name} holds {life.tap.correlations} correlations"
        for worker in self.workers:
            if worker.facts.queue_depth:
                yield f"{worker.process.name} holds {worker.facts.queue_depth} items"

    def is_ready(self) -> bool:
        """Every process is up with the present catalogue, and every worker says that it takes work."""
        current = all(node.link.read_edition == self.config.served_edition for node in self.connected_nodes)
        up = all(node.process.life is not None for node in self.nodes)
        return up and current and all(worker.facts.is_ready for worker in self.workers)

    async def health(self, gateway: GatewayNode) -> dict[str, int]:
        """How many requests a gateway has in flight, and how many workers it would use. Raises ConnectionLost."""
        body = json.loads((await gateway.server.request(Call("GET", "/health"))).body)
        return {"in flight": body["requests_in_flight"], "workers": body["cluster"]["worker_count"]}

    async def models(self, gateway: GatewayNode) -> tuple[str, ...]:
        """Raises ConnectionLost."""
        body = json.loads((await gateway.server.request(Call("GET", "/v1/models"))).body)
        return tuple(row["name"] for row in body["models"])


@asynccontextmanager
async def open_cluster(topology: Topology, seed: int, folders: CatalogueFolders) -> AsyncIterator[Cluster]:
    """Started, not yet ready. What still runs when the block is left is killed."""
    async with trio.open_nursery() as nursery:
        cluster = Cluster(topology, seed, folders, nursery)
        async with cluster.network.running():
            for node in cluster.connected_nodes:
                cluster.start(node)
            cluster.later(CONFIG_DELAY_S, partial(cluster.start, cluster.config))
            yield cluster
            nursery.cancel_scope.cancel()


async def _do_later(in_s: float, do: Callable[[], None]) -> None:
    await trio.sleep(in_s)
    do()


@cache
def expected_hash(folders: CatalogueFolders, edition: int) -> str:
    """The hash of the one lane in an edition, from the documents themselves; `""` where nothing was read."""
    if not edition:
        return ""
    snapshot = load(ConfigSettings(bundles_dir=folders.bundles_dir(edition))).catalog.snapshot
    return snapshot.scoped_hash(BundleName("default"), DEFAULT_POOL) or ""
