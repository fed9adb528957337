"""A real gateway assigns pools to real workers (§16.3), which run the work of theirs alone; the broker is a double."""

import json
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import attrs
import trio
from trio.testing import MockClock

from sie.authority.client import Authority
from sie.bus.api import Bus, Message, OpenBus
from sie.domain.ids import ModelId, WorkerId
from sie.domain.subjects import work_subject
from sie.gateway.app import World as GatewayWorld
from sie.gateway.app import run as run_gateway
from sie.gateway.settings import GatewaySettings
from sie.runtime.world import Machine
from sie.testing.cluster.network import Network
from sie.testing.cluster.pools_link import PoolsLink
from sie.testing.cluster.served import AppServer, Call, ConnectionLost
from sie.testing.cluster.tapped import Tap, tapped
from sie.testing.cluster.weather import Weather
from sie.wire.result import WorkResult, decode_result
from sie.wire.work import encode_work
from sie.worker.app import World as WorkerWorld
from sie.worker.app import run as run_worker
from sie.worker.children import Child, Report, open_child
from sie.worker.consume.source import JetStreamSource
from sie.worker.gate import POLL_S
from sie.worker.settings import WorkerSettings
from tests.worker.doubles import LANE, MODEL, UNIX_S, ScriptedLaunch, run_inline, serve, work
from tests.worker.stage import ScriptedAuthority, until

NAMES = ("w0", "w1")
INBOX = "_INBOX.client"


@asynccontextmanager
async def open_authority(url: str, token: str | None) -> AsyncIterator[Authority]:
    assert (url, token) == ("http://config", None)
    yield ScriptedAuthority()


def open_backend(report: Report) -> AbstractAsyncContextManager[Child]:
    return open_child(ScriptedLaunch((serve,)), report)


def machine_of(name: str, stop: trio.Event) -> Machine:
    return Machine(lambda: UNIX_S, random.Random(name), run_inline, stop)


@attrs.define(eq=False)
class Scene:
    """`given_back` counts what each worker gave back to the broker."""

    network: Network
    bus: Bus
    server: AppServer = attrs.field(factory=AppServer)
    results: list[WorkResult] = attrs.field(factory=list)
    given_back: dict[str, int] = attrs.field(factory=lambda: dict.fromkeys(NAMES, 0))
    published: int = 0

    def bus_of(self, name: str) -> OpenBus:
        def on_sent(message: Message) -> None:
            self.given_back[name] += message.data.startswith(b"-NAK")

        return tapped(self.network.open_bus(name), Tap(on_sent))

    async def gateway(self, stop: trio.Event) -> None:
        world = GatewayWorld(
            machine_of("gateway", stop), self.network.open_bus("gateway"), open_authority, self.server.serve
        )
        await run_gateway(GatewaySettings(config_service_url="http://config"), world)

    async def worker(self, name: str, stop: trio.Event) -> None:
        settings = WorkerSettings(
            worker_id=WorkerId(name), config_service_url="http://config", gateway_url="http://gateway"
        )
        machine, pools = machine_of(name, stop), PoolsLink((self.server,))
        world = WorkerWorld(machine, self.bus_of(name), open_authority, open_backend, JetStreamSource, pools.open())
        await run_worker(settings, world)

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
async def scene() -> AsyncIterator[Scene]:
    network, stop = Network(1, Weather()), trio.Event()
    async with network.running(), network.open_bus("client")("", inbox=INBOX, name="client") as bus:
        here = Scene(network, bus)
        bus.on_inbox(here.hear)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(here.gateway, stop)
            for name in NAMES:
                nursery.start_soon(partial(here.worker, name, stop))
            assert await here.until_assigned("default", 2) == set(NAMES)
            yield here
            stop.set()


async def test_a_capped_pools_work_is_run_by_the_worker_that_the_gateway_assigned_and_given_back_by_the_other(
    autojump_clock: MockClock,
) -> None:
    async with scene() as here:
        assert await here.ask("POST", "/v1/pools", {"name": "acme", "gpu_caps": {"default": 1}})
        (ours,) = await here.until_assigned("acme", 1)
        (other,) = set(NAMES) - {ours}
        await trio.sleep(POLL_S)
        here.publish("acme", 20)
        here.publish("default", 20)
        await until(lambda: len(here.results) == 40)
        by_pool = {result.work_item_id: result.worker_id for result in here.results}
        assert len(by_pool) == 40
        assert {by_pool[f"r1.{number}"] for number in range(1, 21)} == {ours}
        assert here.given_back[ours] == 0
        assert here.given_back[other] > 0


async def test_a_pool_that_is_new_is_served_by_workers_that_have_not_polled_since(autojump_clock: MockClock) -> None:
    async with scene() as here:
        here.publish("acme", 4)
        await trio.sleep(2 * POLL_S)
        assert here.results == []
        assert sum(here.given_back.values()) >= 4
        assert await here.ask("POST", "/v1/pools", {"name": "acme", "gpus": {"default": 2}})
        await until(lambda: len(here.results) == 4)


async def test_a_pool_that_is_deleted_is_served_by_nobody(autojump_clock: MockClock) -> None:
    async with scene() as here:
        assert await here.ask("POST", "/v1/pools", {"name": "acme", "gpus": {"default": 2}})
        await here.until_assigned("acme", 2)
        await trio.sleep(POLL_S)
        here.publish("acme", 4)
        await until(lambda: len(here.results) == 4)
        assert await here.ask("DELETE", "/v1/pools/acme")
        await trio.sleep(POLL_S + 1)
        here.publish("acme", 4)
        await trio.sleep(3 * POLL_S)
        assert len(here.results) == 4
