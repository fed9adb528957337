"""A real gateway and real workers with scripted backends, put together; the broker is a double."""

import json
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TypeVar

import attrs
import trio

from sie.authority.client import Authority
from sie.bus.api import Bus, Message, OpenBus
from sie.domain.ids import ModelId, WorkerId
from sie.domain.subjects import work_subject
from sie.gateway.app import World as GatewayWorld
from sie.gateway.app import run as run_gateway
from sie.gateway.settings import GatewaySettings
from sie.runtime.world import Machine
from sie.storage.payloads import PayloadStore
from sie.testing.cluster.network import Network
from sie.testing.cluster.pools_link import PoolsLink
from sie.testing.cluster.served import AppServer, Call, ConnectionLost
from sie.testing.cluster.tapped import Tap, tapped
from sie.testing.cluster.vectors import outcome, text_of
from sie.testing.cluster.weather import Weather
from sie.testing.payloads import MemoryPayloads
from sie.wire.ipc import EncodeBatch, Finished, LoadModel
from sie.wire.result import WorkResult, decode_result
from sie.wire.work import encode_work
from sie.worker.app import World as WorkerWorld
from sie.worker.app import run as run_worker
from sie.worker.children import Child, OpenChild, Report, open_child
from sie.worker.consume.source import JetStreamSource
from sie.worker.settings import WorkerSettings
from tests.worker.doubles import LANE, MODEL, UNIX_S, Peer, Script, ScriptedLaunch, run_inline, serve, work
from tests.worker.stage import ScriptedAuthority

T = TypeVar("T")
NAMES = ("w0", "w1")
INBOX = "_INBOX.client"


@attrs.define
class Slow:
    """A backend that takes its time for each batch, and notes what it is given."""

    batch_s: float
    texts: list[str] = attrs.field(factory=list)

    async def __call__(self, peer: Peer) -> None:
        await peer.greet()
        while (request := await peer.hear()) is not None:
            if isinstance(request, LoadModel):
                await peer.say(Finished(id=request.id))
            elif isinstance(request, EncodeBatch):
                self.texts += map(text_of, request.items)
                await trio.sleep(self.batch_s)
                outcomes = tuple(outcome(request.serving_id, item) for item in request.items)
                await peer.say(Finished(id=request.id, outcomes=outcomes))


@asynccontextmanager
async def open_authority(url: str, token: str | None) -> AsyncIterator[Authority]:
    assert (url, token) == ("http://config", None)
    yield ScriptedAuthority()


def backend(script: Script) -> OpenChild:
    def open_backend(report: Report) -> AbstractAsyncContextManager[Child]:
        return open_child(ScriptedLaunch((script,)), report)

    return open_backend


def machine_of(name: str, stop: trio.Event) -> Machine:
    return Machine(lambda: UNIX_S, random.Random(name), run_inline, stop)


@attrs.define(eq=False)
class Scene:
    """`given_back` counts what each worker gave back to the broker; `queued` are the subjects of the gateway's work."""

    network: Network
    bus: Bus
    script: Script
    stop: trio.Event
    server: AppServer = attrs.field(factory=AppServer)
    payloads: MemoryPayloads = attrs.field(factory=MemoryPayloads)
    fetch_s: float = 0.0
    results: list[WorkResult] = attrs.field(factory=list)
    given_back: dict[str, int] = attrs.field(factory=lambda: dict.fromkeys(NAMES, 0))
    queued: list[str] = attrs.field(factory=list)
    published: int = 0

    def bus_of(self, name: str) -> OpenBus:
        def on_sent(message: Message) -> None:
            self.given_back[name] += message.data.startswith(b"-NAK")

        return tapped(self.network.open_bus(name), Tap(on_sent))

    async def gateway(self, stop: trio.Event) -> None:
        def on_sent(message: Message) -> None:
            if message.subject.startswith("sie.work."):
                self.queued.append(message.subject)

        open_bus = tapped(self.network.open_bus("gateway"), Tap(on_sent))
        world = GatewayWorld(
            machine_of("gateway", stop),
            open_bus,
            open_authority,
            self.server.serve,
            open_payload_store=self.open_payloads,
        )
        await run_gateway(GatewaySettings(config_service_url="http://config", payload_store_url="memory"), world)

    async def worker(self, name: str, stop: trio.Event) -> None:
        settings = WorkerSettings(
            worker_id=WorkerId(name),
            config_service_url="http://config",
            gateway_url="http://gateway",
            payload_store_url="memory",
        )
        machine, pools = attrs.evolve(machine_of(name, stop), run_in_thread=self.slowly), PoolsLink((self.server,))
        world = WorkerWorld(
            machine,
            self.bus_of(name),
            open_authority,
            backend(self.script),
            JetStreamSource,
            pools.open(),
            self.open_payloads,
        )
        await run_worker(settings, world)

    def open_payloads(self, url: str) -> PayloadStore:
        assert url == "memory"
        return self.payloads

    async def slowly(self, do: Callable[[], T], /) -> T:
        """As long as a worker's fetches take."""
        await trio.sleep(self.fetch_s)
        return do()

    async def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Mapping[str, object]:
        """{} while nobody serves or the answer is a refusal."""
        sent = b"" if body is None else json.dumps(body).encode()
        try:
            answer = await self.server.request(Call(method, path, {"content-type": "application/json"}, sent))
        except ConnectionLost:
            return {}
        told = json.loads(answer.body)
        return told if answer.status < 300 else {}

    async def assigned(self, pool: str) -> frozenset[str]:
        told = await self.ask("GET", f"/v1/pools/{pool}")
        match told:
            case {"status": {"assigned_workers": [*rows]}}:
                return frozenset(row["name"] for row in rows)
            case _:
                return frozenset()

    async def until_assigned(self, pool: str, count: int) -> frozenset[str]:
        with trio.fail_after(100):
            while len(names := await self.assigned(pool)) < count:  # noqa: ASYNC110 - the clock jumps
                await trio.sleep(0.1)
        return names

    def publish(self, admission_pool: str, count: int) -> None:
        for _ in range(count):
            self.published += 1
            item = attrs.evolve(
                work(self.published), admission_pool=admission_pool, reply_subject=f"{INBOX}.r1", deadline=None
            )
            self.bus.publish_nowait(work_subject(LANE, ModelId(MODEL)), encode_work(item))

    def hear(self, message: Message) -> None:
        self.results.append(decode_result(message.data))


@asynccontextmanager
async def scene(script: Script = serve, names: Sequence[str] = NAMES) -> AsyncIterator[Scene]:
    """Ends when both kinds of service have been asked to stop and have ended."""
    network, stop = Network(1, Weather()), trio.Event()
    async with network.running(), network.open_bus("client")("", inbox=INBOX, name="client") as bus:
        here = Scene(network, bus, script, stop)
        bus.on_inbox(here.hear)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(here.gateway, stop)
            for name in names:
                nursery.start_soon(partial(here.worker, name, stop))
            assert await here.until_assigned("default", len(names)) == set(names)
            yield here
            stop.set()
