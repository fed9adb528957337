"""The three services as processes of a simulated cluster: each node runs the service's own `run`, between doubles."""

from functools import partial

import attrs

from sie.bus.api import Message
from sie.bus.jetstream_api import Storage
from sie.config.app import World as ConfigWorld
from sie.config.app import run as run_config
from sie.config.settings import ConfigSettings
from sie.domain.ids import WorkerId
from sie.gateway.app import World as GatewayWorld
from sie.gateway.app import run as run_gateway
from sie.gateway.settings import GatewaySettings
from sie.testing.cluster.authority import AuthorityLink
from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.cluster.device import Device, LoadFailure
from sie.testing.cluster.events import EventLog
from sie.testing.cluster.ledger import Ledger, WorkerFacts
from sie.testing.cluster.machine import WallClock, machine_of
from sie.testing.cluster.network import Network
from sie.testing.cluster.process import Life, Process
from sie.testing.cluster.served import AppServer
from sie.testing.cluster.tapped import Tap, tapped
from sie.worker.app import World as WorkerWorld
from sie.worker.app import run as run_worker
from sie.worker.children import open_child
from sie.worker.consume.source import JetStreamSource
from sie.worker.settings import WorkerSettings

REQUEST_TIMEOUT_S = 45.0
"""Above the ack_wait of 30 s, so that work that comes again can still be in time."""


@attrs.frozen
class Surroundings:
    """What every node of one cluster shares."""

    seed: int
    network: Network
    ledger: Ledger
    log: EventLog
    storage: Storage = "memory"

    def machine_seed(self, process: Process, life: Life) -> str:
        return f"{self.seed}/{process.name}/{life.number}"


class ConfigNode:
    def __init__(self, around: Surroundings, folders: CatalogueFolders) -> None:
        self.server = AppServer()
        self.clock = WallClock()
        self.edition = 1
        self.served_edition = 0
        self._around = around
        self._folders = folders
        tap = partial(Tap, _ignore, _ignore)
        self.process = Process("config", self._main, tap, _nothing, around.log.add)

    async def _main(self, life: Life) -> None:
        self.served_edition = self.edition
        settings = ConfigSettings(bundles_dir=self._folders.bundles_dir(self.edition))
        machine = machine_of(self.clock, self._around.machine_seed(self.process, life), life.stop)
        await run_config(settings, ConfigWorld(machine, self.server.serve))


class GatewayNode:
    def __init__(self, name: str, around: Surroundings, config: ConfigNode) -> None:
        self.server = AppServer()
        self.clock = WallClock()
        self.link = AuthorityLink(config.server, lambda: config.served_edition)
        self._around = around
        self.process = Process(name, self._main, self._tap, partial(_cut, around, name), around.log.add)

    def _tap(self) -> Tap:
        return Tap(self._on_sent, _ignore)

    def _on_sent(self, message: Message) -> None:
        if message.subject.startswith("sie.work."):
            self._around.log.add(self.process.name, "queues", message.headers.get("Nats-Msg-Id", ""))
            self._around.ledger.on_work(message.data)

    async def _main(self, life: Life) -> None:
        around = self._around
        self.link.read_edition = 0
        settings = GatewaySettings(
            config_service_url="http://config", request_timeout_s=REQUEST_TIMEOUT_S, stream_storage=around.storage
        )
        machine = machine_of(self.clock, around.machine_seed(self.process, life), life.stop)
        open_bus = tapped(around.network.open_bus(self.process.name), life.tap)
        await run_gateway(settings, GatewayWorld(machine, open_bus, self.link.open(), self.server.serve))


class WorkerNode:
    def __init__(self, name: str, around: Surroundings, config: ConfigNode) -> None:
        self.clock = WallClock()
        self.link = AuthorityLink(config.server, lambda: config.served_edition)
        self.facts = WorkerFacts(name, self.clock.unix_s, self.link)
        self.device = Device(self._on_batch, self._on_load)
        self._around = around
        self.process = Process(name, self._main, self._tap, partial(_cut, around, name), around.log.add)

    def _tap(self) -> Tap:
        return Tap(self._on_sent, self._on_received)

    def _on_sent(self, message: Message) -> None:
        subject, ledger = message.subject, self._around.ledger
        if subject.startswith("_INBOX."):
            self._tell("answers", subject)
            ledger.on_result(self.facts, subject, message.data)
        elif subject.startswith("$JS.ACK."):
            self._tell("says", message.data.decode())
            ledger.on_word(self.facts, subject, message.data)
        elif subject.startswith("sie.health."):
            ledger.on_heartbeat(self.facts, message.data)
        elif subject.startswith("$JS.API.CONSUMER."):
            self.facts.has_ensured = True

    def _on_received(self, message: Message) -> None:
        if message.reply.startswith("$JS.ACK."):
            self._around.ledger.on_lent(self.facts, message.reply, message.headers.get("Nats-Msg-Id", ""))

    def _on_batch(self, serving_id: str, texts: tuple[str, ...]) -> None:
        self._tell("runs", f"{serving_id} {' '.join(texts)}")
        self._around.ledger.on_batch(self.facts, serving_id, texts)

    def _on_load(self, serving_id: str, failure: LoadFailure | None) -> None:
        self._tell("loads", f"{serving_id} {failure or 'well'}")
        self._around.ledger.on_load(self.facts, serving_id, failure)

    def _tell(self, event: str, detail: str) -> None:
        self._around.log.add(self.process.name, event, detail)

    async def _main(self, life: Life) -> None:
        around, name = self._around, self.process.name
        self.link.read_edition = 0
        self.facts = WorkerFacts(name, self.clock.unix_s, self.link)
        settings = WorkerSettings(
            worker_id=WorkerId(name), config_service_url="http://config", stream_storage=around.storage
        )
        world = WorkerWorld(
            machine_of(self.clock, around.machine_seed(self.process, life), life.stop),
            tapped(around.network.open_bus(name), life.tap),
            self.link.open(),
            partial(open_child, self.device.launch),
            JetStreamSource,
        )
        await run_worker(settings, world)


Node = ConfigNode | GatewayNode | WorkerNode


def _cut(around: Surroundings, name: str, _: Life) -> None:
    around.network.cut(name)


def _ignore(_: Message) -> None:
    return


def _nothing(_: Life) -> None:
    return
