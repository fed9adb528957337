"""A whole cluster in one `trio.run`: gateways, the config service and workers, started, healed and looked at.

Everything runs in the cluster's one nursery; a service that fails by itself ends the run with its error.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial

import trio

from sie.testing.cluster.catalogue import CatalogueFolders, base_documents, lane_hash
from sie.testing.cluster.config_node import ConfigNode
from sie.testing.cluster.events import EventLog
from sie.testing.cluster.holdings import left_behind
from sie.testing.cluster.kube_server import KubeServer
from sie.testing.cluster.ledger import Ledger
from sie.testing.cluster.network import Network
from sie.testing.cluster.nodes import GatewayNode, Node, WorkerNode
from sie.testing.cluster.payload_store import PayloadDouble
from sie.testing.cluster.pool_rules import PoolRules
from sie.testing.cluster.replica_rules import Look, ReplicaRules
from sie.testing.cluster.served import Call, ConnectionLost
from sie.testing.cluster.shown import read_shown
from sie.testing.cluster.store_rules import StoreRules
from sie.testing.cluster.surroundings import Surroundings, system_tasks
from sie.testing.cluster.topology import Topology
from sie.testing.cluster.weather import LANE_CHANGED, Weather
from sie.testing.disk import DiskDouble

LOOK_S = 0.5
"""Between two looks at whether something has come true."""

STOP_LIMIT_S = 15.0
"""Of an orderly end: 8 s for what runs, and the bounded closing of what is open."""

DOWN_S = 1.0
"""Until a config process that died in a disk call is started again."""

CONFIG_DELAY_S = 0.05
"""The config service is the last to come up, so that everybody has to ask twice."""


class Cluster:
    """Every process of it, and what is known of them from outside.

    `wanted_lane` is the hash of the workers' lane as the store and the present edition have it. `pools` are None where
    there is no Kubernetes.
    """

    def __init__(self, topology: Topology, seed: int, folders: CatalogueFolders, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        self.healed = trio.Event()
        self.log = EventLog()
        self.weather = Weather()
        self.payloads = PayloadDouble(self.weather)
        self.ledger = Ledger(self.weather, self.payloads)
        self.network = Network(seed, self.weather)
        shared = (self.network, self.ledger, self.log, self.weather, self.payloads)
        around = Surroundings(seed, *shared, system_tasks(), topology.storage)
        self.changed = self.weather.spell(LANE_CHANGED)
        disk = DiskDouble(digests=seed % 2 == 1)
        self.rules = StoreRules.of(disk, self.ledger.violate, self.ledger.count, self.on_change)
        self.replica_rules = ReplicaRules(self.rules.history, self.ledger.violate)
        self.config = ConfigNode("config-0", around, folders, self.rules, self._revive_soon)
        self.rival = ConfigNode("config-1", around, folders, self.rules, self._bury)
        self.wanted_lane = self._present_lane()
        kube = KubeServer.of(seed, nursery) if topology.kubernetes else None
        self.gateways = tuple(GatewayNode(f"gateway-{n}", around, self.config, kube) for n in range(topology.gateways))
        servers = tuple(gateway.server for gateway in self.gateways)
        self.workers = tuple(WorkerNode(f"worker-{n}", around, self.config, servers) for n in range(topology.workers))
        self.pools: PoolRules | None = None
        if kube is not None:
            clocks = tuple(gateway.clock for gateway in self.gateways)
            self.pools = PoolRules(kube, clocks, self.ledger.violate, self.ledger.count)

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

    def config_process(self, number: int) -> ConfigNode:
        """1 is the rival, a second process on the same store."""
        return self.rival if number % 2 else self.config

    def _present_lane(self) -> str:
        documents = {**base_documents(self.config.edition), **self.rules.history.overlay}
        return lane_hash(frozenset(documents.values()))

    def on_change(self) -> None:
        """What the workers hold may be old from now on."""
        before, self.wanted_lane = self.wanted_lane, self._present_lane()
        if self.wanted_lane != before:
            self.changed.begin()

    async def look_at(self, gateway: GatewayNode) -> None:
        """Whether it may hold what it shows."""
        facts, exports = gateway.facts, gateway.link.exports
        try:
            shown = await read_shown(gateway.server)
        except ConnectionLost:
            return
        if facts is gateway.facts:
            self.replica_rules.judge(Look(facts, shown, exports))

    async def read_authority(self, process: int = 0) -> bool:
        """As an operator does. False: it does not answer, or has no registry."""
        node = self.config_process(process)
        try:
            answer = await node.server.request(Call("GET", "/v1/configs/export"))
        except ConnectionLost:
            return False
        if answer.status == 200:
            node.read(answer.body)
        return answer.status == 200

    def _revive_soon(self, node: ConfigNode) -> None:
        self.nursery.start_soon(self._revive, node)

    async def _revive(self, node: ConfigNode) -> None:
        if (life := node.process.life) is not None:
            await life.ended.wait()
        await trio.sleep(DOWN_S)
        self.start(node)

    def _bury(self, _: ConfigNode) -> None:
        """The rival stays dead."""

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

    async def restart(self, node: Node) -> None:
        await self.stop(node)
        self.start(node)

    async def kill_config_in(self, in_s: float) -> None:
        """The disk is as fast as ever after it."""
        await trio.sleep(in_s)
        await self.config.process.kill()
        self.config.slowness_s = 0.0
        await trio.sleep(DOWN_S)
        self.start(self.config)

    async def kill_rival_in(self, in_s: float) -> None:
        await trio.sleep(in_s)
        await self.rival.process.kill()

    async def turn_store_back(self, number: int) -> None:
        """The store is what it was at some time, and the config service starts from it. Number 0 is the empty store."""
        await self.rival.process.kill()
        await self.config.process.kill()
        self.rules.history.turn_back(number)
        self.start(self.config)

    def land_late(self) -> None:
        """The oldest swap that is still under way is done now, if its version fits."""
        if self.rules.disk.late:
            self.rules.disk.land()
            self.rules.history.look("nobody")

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
            worker.pools.heal()
        self.payloads.heal()
        for config in (self.config, self.rival):
            config.calls.clear()
            config.commits.clear()
            config.slowness_s = 0.0
        self._heal_disk()
        if self.pools is not None:
            self.pools.server.heal()
        self.healed.set()

    def _heal_disk(self) -> None:
        """What was still under way reaches it now."""
        self.rules.disk.full = False
        while self.rules.disk.late:
            self.land_late()

    def start_crashed(self) -> None:
        """What a kubelet does. Whoever runs is left alone: it must recover by itself."""
        for node in self.nodes:
            self.start(node)

    async def restart_stale(self) -> None:
        """What an operator still has to do: start again a worker that gave a model up for good. All follow the
        authority by themselves.
        """
        for worker in self.workers:
            if not self.is_current(worker):
                await self.stop(worker)
                self.start(worker)
        self.changed.end()

    def is_current(self, worker: WorkerNode) -> bool:
        """It holds the lane that the authority told last, and nothing that only an operator can mend."""
        return worker.link.lane_hash == self.config.exported.lane_hash and not worker.facts.refusing

    async def redeploy(self, edition: int) -> None:
        """The config service comes back with other folders."""
        self.config.edition = edition
        self.on_change()
        await self.config.process.kill()
        self.start(self.config)

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
            if life is not None and gateway.facts.dispatcher is not None:
                for line in left_behind(gateway.facts.dispatcher):
                    yield f"{gateway.process.name} holds {line}"
        for worker in self.workers:
            if worker.facts.queue_depth:
                yield f"{worker.process.name} holds {worker.facts.queue_depth} items"
            if worker.facts.leases.open:
                yield f"{worker.process.name} has said nothing of {len(worker.facts.leases.open)} deliveries"
        yield from self.payloads.leftovers()

    def is_ready(self) -> bool:
        """Every process is up and has a catalogue, and every worker takes work and is heard by every gateway."""
        up = all(node.process.runs for node in self.nodes)
        read = all(node.link.has_read for node in self.connected_nodes)
        ready = up and read and all(worker.facts.is_ready for worker in self.workers)
        return ready and all(self._is_heard(gateway, worker) for gateway in self.gateways for worker in self.workers)

    def _is_heard(self, gateway: GatewayNode, worker: WorkerNode) -> bool:
        return gateway.facts.must_use(worker.link.lane_hash, trio.current_time())

    async def health(self, gateway: GatewayNode) -> dict[str, int]:
        """How many requests a gateway has in flight, and how many workers it would use. Raises ConnectionLost."""
        body = json.loads((await gateway.server.request(Call("GET", "/health"))).body)
        return {"in flight": body["requests_in_flight"], "workers": body["cluster"]["worker_count"]}


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
