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
from sie.testing.cluster.nodes import ConfigNode, GatewayNode, Node, Surroundings, WorkerNode, system_tasks
from sie.testing.cluster.served import Call
from sie.testing.cluster.weather import Weather

LOOK_S = 0.5
"""Between two looks at whether something has come true."""

STOP_LIMIT_S = 15.0
"""Of an orderly end: 8 s for what runs, and the bounded closing of what is open."""

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
        self.weather = Weather()
        self.ledger = Ledger(lambda edition: expected_hash(folders, edition), self.weather)
        self.network = Network(seed, self.weather)
        around = Surroundings(seed, self.network, self.ledger, self.log, self.weather, system_tasks(), topology.storage)
        self.changed = self.weather.spell("CatalogueChanges")
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

    async def stop(self, node: Node) -> None:
        """In order, and within its bound."""
        with trio.move_on_after(STOP_LIMIT_S):
            await node.process.stop()
            return
        self.ledger.violate(f"{node.process.name} does not end within {STOP_LIMIT_S:g} s of its stop")
        await node.process.kill()

    def later(self, in_s: float, do: Callable[[], None]) -> None:
        self.nursery.start_soon(_do_later, in_s, do)

    def heal(self) -> None:
        """End every fault that lasts. Processes are left as they are."""
        self.network.heal()
        for node in self.connected_nodes:
            node.link.heal()
            node.clock.jump_to(0.0)
            if node.process.life is not None:
                node.process.life.tap.heal()
        for worker in self.workers:
            worker.device.heal()

    def start_crashed(self) -> None:
        """What a kubelet does. Whoever runs is left alone: it must recover by itself."""
        for node in self.nodes:
            self.start(node)

    async def restart_stale(self) -> None:
        """What an operator still has to do: start again what gave a model up for good, or holds an old catalogue.

        The second is needed only as long as services read the catalogue once.
        """
        for node in self.connected_nodes:
            if not self.is_current(node):
                await self.stop(node)
                self.start(node)
        self.changed.end()

    def is_current(self, node: GatewayNode | WorkerNode) -> bool:
        """It holds the present catalogue, and nothing that only an operator can mend."""
        gave_up = isinstance(node, WorkerNode) and bool(node.facts.refusing)
        return node.link.read_edition == self.config.edition and not gave_up

    def change_catalogue(self, edition: int) -> None:
        """From now on, whoever reads it reads this."""
        self.config.edition = edition
        self.changed.begin()

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
        """Every process is up and has a catalogue, and every worker takes work and is heard by every gateway."""
        up = all(node.process.runs for node in self.nodes)
        read = all(node.link.read_edition for node in self.connected_nodes)
        ready = up and read and all(worker.facts.is_ready for worker in self.workers)
        return ready and all(self._is_heard(gateway, worker) for gateway in self.gateways for worker in self.workers)

    def _is_heard(self, gateway: GatewayNode, worker: WorkerNode) -> bool:
        return gateway.facts.must_use(self.ledger.hash_of(worker.link.read_edition), trio.current_time())

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
