"""The gateway and the worker as processes of a simulated cluster: each runs the service's own `run` among doubles."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs
import trio
from hypercorn.typing import ASGIFramework

from sie.bus.api import Message
from sie.domain.ids import BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.subjects import CONFIG_ALL, is_direct, request_of_result
from sie.gateway.app import World as GatewayWorld
from sie.gateway.app import run as run_gateway
from sie.gateway.dispatch.dispatcher import Dispatcher
from sie.gateway.settings import GatewaySettings
from sie.testing.cluster.authority import AuthorityLink
from sie.testing.cluster.config_node import ConfigNode
from sie.testing.cluster.demand_rules import LANES, DemandRules
from sie.testing.cluster.device import Device, LoadFailure
from sie.testing.cluster.direct_rules import DirectRules
from sie.testing.cluster.facts import POOL_STREAM, GatewayFacts, WorkerFacts, fields
from sie.testing.cluster.kube_server import KubeServer
from sie.testing.cluster.ledger import PULL
from sie.testing.cluster.machine import machine_of
from sie.testing.cluster.payload_store import URL
from sie.testing.cluster.pools_link import PoolsLink
from sie.testing.cluster.process import Life, Process
from sie.testing.cluster.served import AppServer
from sie.testing.cluster.surroundings import Surroundings, cut_off, nothing
from sie.testing.cluster.tapped import Tap, tapped
from sie.testing.cluster.weather import GATEWAY_STARTED, POOLS_UNREAD, WORKER_AWAY
from sie.worker.app import World as WorkerWorld
from sie.worker.app import run as run_worker
from sie.worker.children import open_child
from sie.worker.consume.crash_book import CrashMemory
from sie.worker.consume.source import JetStreamSource
from sie.worker.settings import WorkerSettings

REQUEST_TIMEOUT_S = 45.0
"""Above the ack_wait of 30 s, so that work that comes again can still be in time."""

DRAIN_S = 8.0
"""So that what outlasts it is seen within a scene."""

MEMORY_BYTES = 240
"""Of a device: room for two of its models, as workers use a part of it only."""

ACK = "$JS.ACK."


class GatewayNode:
    """Without a Kubernetes API server its pools are in its memory."""

    def __init__(self, name: str, around: Surroundings, config: ConfigNode, kube: KubeServer | None = None) -> None:
        self.server = AppServer()
        self._kube = None if kube is None else kube.link(name)
        self.clock = around.clock()
        self.link = AuthorityLink(config.server, config.read)
        self._around = around
        self.facts = self._new_facts(name)
        self.process = Process(name, self._main, self._tap, self._on_kill, around.log.add, nothing, self._on_end)

    def _new_facts(self, name: str) -> GatewayFacts:
        violate = self._around.ledger.violate
        demand, direct = DemandRules(partial(_of, violate, name)), DirectRules(partial(_of, violate, name))
        return GatewayFacts(name, self.clock, self.link, demand, direct)

    def _on_kill(self, life: Life) -> None:
        cut_off(self._around, self.process.name, life)
        self._around.payloads.orphan(self.process.name)

    def _tap(self) -> Tap:
        around = self._around
        late = around.late(self.process)
        return Tap(self._on_sent, self._on_received, self._on_refused, late, around.on_lost)

    def _on_sent(self, message: Message) -> None:
        self._around.on_sent(self.process, message)
        if message.subject.startswith("sie.work."):
            self._around.log.add(self.process.name, "queues", message.headers.get("Nats-Msg-Id", ""))
            self._on_work(message)
        elif message.subject.startswith("batch_cancel."):
            body = fields(message.data)
            for index in _indexes(body):
                self.facts.direct.on_withdrawn(str(body.get("request_id")), index)
        elif message.subject.startswith("work_cancel."):
            self._on_refused(message)

    def _on_work(self, message: Message) -> None:
        _, _, pool, profile, bundle, *_ = message.subject.split(".")
        lane = Lane(PoolName(pool), MachineProfile(profile), BundleName(bundle))
        self._around.ledger.on_work(self.facts, message.data, is_direct=is_direct(message.subject))
        self.facts.demand.on_work(lane, trio.current_time())

    def _on_refused(self, message: Message) -> None:
        """Whoever says that nobody waits any more is through with the request, whether that is heard or not."""
        if message.subject.startswith("work_cancel."):
            self.facts.direct.on_over(message.subject.rpartition(".")[2])

    def _on_received(self, message: Message) -> None:
        if message.subject.startswith("sie.health."):
            self.facts.hear(message.data)
        elif message.subject == CONFIG_ALL:
            self.facts.delta_s = trio.current_time()
        elif self.facts.direct.open and request_of_result(message.subject) in self.facts.direct.open:
            self._on_result(message.data)

    def _on_result(self, data: bytes) -> None:
        """A part of one does not say whence it comes."""
        body = fields(data)
        index = body.get("item_index")
        if isinstance(index, int):
            self.facts.direct.on_result(str(body.get("request_id")), index, is_direct=body.get("origin") == "direct")

    def _on_end(self) -> None:
        self._around.count_tasks(self.process)

    async def _main(self, life: Life) -> None:
        around = self._around
        self.link.forget()
        self.facts = self._new_facts(self.process.name)
        around.weather.note(GATEWAY_STARTED)
        settings = GatewaySettings(
            config_service_url="http://config",
            request_timeout_s=REQUEST_TIMEOUT_S,
            stream_storage=around.storage,
            kubernetes=self._kube is not None,
            configured_physical_lanes=LANES,
            payload_store_url=URL,
        )
        machine = machine_of(self.clock, around.machine_seed(self.process, life), life.stop)
        open_bus = tapped(around.network.open_bus(self.process.name), life.tap)
        world = GatewayWorld(
            machine,
            open_bus,
            self.link.open(),
            self._serve,
            open_payload_store=around.payloads.opener(self.process.name),
            on_dispatcher=self._keep,
        )
        if self._kube is not None:
            world = attrs.evolve(world, open_kube=self._kube.open_kube())
        await run_gateway(settings, world)

    def _keep(self, dispatcher: Dispatcher) -> None:
        self.facts.dispatcher = dispatcher

    async def _serve(
        self,
        app: ASGIFramework,
        *,
        host: str,
        port: int,
        stop: trio.Event,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """It may have waited for its pools before."""
        self._around.weather.note(GATEWAY_STARTED)
        await self.server.serve(app, host=host, port=port, stop=stop, task_status=task_status)


class WorkerNode:
    """`away` is on while the worker takes no work because its process does not run, or is not ready yet."""

    def __init__(self, name: str, around: Surroundings, config: ConfigNode, gateways: Sequence[AppServer]) -> None:
        self.clock = around.clock()
        self.link = AuthorityLink(config.server, config.read)
        self.pools = PoolsLink(gateways, name, around.weather.spell(POOLS_UNREAD))
        self.facts = WorkerFacts(name, self.clock.unix_s, self.link, self.pools, around.weather)
        self.left_s = float("-inf")
        self.device = Device(
            self._on_batch,
            self._on_load,
            self._on_held,
            around.weather,
            memory_bytes=MEMORY_BYTES,
            on_fault=self._on_fault,
        )
        self.crashes = CrashMemory()
        self.away = around.weather.spell(WORKER_AWAY)
        self._around = around
        self.process = Process(
            name, self._main, self._tap, partial(cut_off, around, name), around.log.add, self._on_leave, self._on_end
        )

    def _tap(self) -> Tap:
        around = self._around
        return Tap(self._on_sent, self._on_received, self._on_refused, around.late(self.process), around.on_lost)

    def _on_sent(self, message: Message) -> None:
        subject, ledger = message.subject, self._around.ledger
        self._around.on_sent(self.process, message)
        if subject.startswith("_INBOX."):
            self._tell("answers", subject)
            ledger.on_result(self.facts, subject, message.data)
        elif subject.startswith(ACK):
            self._tell("says", message.data.decode())
            ledger.on_word(self.facts, subject, message.data)
        elif subject.startswith("sie.health."):
            ledger.on_heartbeat(self.facts, message.data)
            if self.facts.is_ready:
                self.away.end()
        elif subject.startswith(PULL):
            ledger.on_pull(self.facts, message)
        elif subject.startswith("$JS.API.CONSUMER.") and f".{POOL_STREAM}" in subject:
            self.facts.has_ensured = True

    def _on_received(self, message: Message) -> None:
        if message.reply.startswith(ACK):
            self._around.ledger.on_lent(self.facts, message.reply, message.headers.get("Nats-Msg-Id", ""))
        elif message.status and "-pull." in message.subject:
            self._around.ledger.on_status(self.facts, message)
        elif message.subject.startswith("work_cancel."):
            self._around.ledger.on_cancel(self.facts, message.data)
        elif message.subject.startswith("batch_cancel."):
            body = fields(message.data)
            self._around.ledger.on_withdrawal(self.facts, str(body.get("request_id")), _indexes(body))

    def _on_refused(self, message: Message) -> None:
        """What was said without a connection was said."""
        if message.subject.startswith(ACK):
            self.facts.leases.tell(message.subject, message.data)

    def _on_leave(self) -> None:
        self.left_s = trio.current_time()
        self.away.begin()

    def _on_end(self) -> None:
        self._around.ledger.on_orderly_end(self.facts)
        self._around.count_tasks(self.process)

    def _on_held(self, count: int, texts: tuple[str, ...]) -> None:
        self._around.ledger.on_held_batches(self.facts, count, texts)

    def _on_batch(self, serving_id: str, texts: tuple[str, ...]) -> None:
        self._tell("runs", f"{serving_id} {' '.join(texts)}")
        self._around.ledger.on_batch(self.facts, serving_id, texts)

    def _on_load(self, serving_id: str, failure: LoadFailure | None) -> None:
        self._tell("loads", f"{serving_id} {failure or 'well'}")
        self._around.ledger.on_load(self.facts, serving_id, failure)

    def _on_fault(self, words: str) -> None:
        self._around.ledger.violate(f"the child of {self.process.name} {words}")

    def _tell(self, event: str, detail: str) -> None:
        self._around.log.add(self.process.name, event, detail)

    async def _main(self, life: Life) -> None:
        around, name = self._around, self.process.name
        self.away.begin()
        self.link.forget()
        self.pools.forget()
        self.facts.end()
        self.facts = WorkerFacts(name, self.clock.unix_s, self.link, self.pools, around.weather)
        settings = WorkerSettings(
            worker_id=WorkerId(name),
            config_service_url="http://config",
            gateway_url="http://gateways",
            stream_storage=around.storage,
            payload_store_url=URL,
            drain_grace_s=DRAIN_S,
        )
        world = WorkerWorld(
            machine_of(self.clock, around.machine_seed(self.process, life), life.stop),
            tapped(around.network.open_bus(name), life.tap),
            self.link.open(),
            partial(open_child, self.device.launch),
            JetStreamSource,
            self.pools.open(),
            around.payloads.opener(name),
            crash_store=self.crashes,
        )
        await run_worker(settings, world)


def _of(violate: Callable[[str], None], name: str, rule: str) -> None:
    violate(f"{name}: {rule}")


def _indexes(body: Mapping[object, object]) -> tuple[int, ...]:
    found = body.get("item_indexes")
    return tuple(found) if isinstance(found, list | tuple) else ()


Node = ConfigNode | GatewayNode | WorkerNode
