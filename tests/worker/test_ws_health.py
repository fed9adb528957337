"""A real gateway hears a real worker at the worker's own address alone (§8, decisions: health mode `ws`): over loopback
with a double of the broker between them and a script for a backend.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import attrs
import httpx2
import pytest
import trio
from wsproto import ConnectionType, WSConnection
from wsproto.events import CloseConnection, TextMessage
from wsproto.events import Request as Handshake

from sie.gateway.app import World as GatewayWorld
from sie.gateway.app import run as run_gateway
from sie.gateway.settings import GatewaySettings
from sie.testing.nats_server import free_port
from sie.web.server import serve_hypercorn
from sie.worker.app import run as run_worker
from sie.worker.consume.source import JetStreamSource
from sie.worker.http.serving import serve_status
from sie.worker.settings import WorkerSettings
from tests.bus.either import open_either
from tests.worker.doubles import MODEL, WORKER, ScriptedBus, ScriptedLaunch, ScriptedQueue, machine
from tests.worker.stage import ScriptedAuthority, ScriptedPools, Stage, world_of
from tests.worker.test_drain import Device
from tests.worker.with_gateway import open_authority

pytestmark = [pytest.mark.system]

LOOPBACK = "127.0.0.1"
LIMIT_S = 40.0


@attrs.define(eq=False)
class Place:
    gateway: httpx2.AsyncClient
    worker: httpx2.AsyncClient
    port: int
    stop_worker: trio.Event
    ended: trio.Event

    async def healthy(self) -> list[str]:
        rows = (await self.gateway.get("/health")).json()["workers"]
        return [row["name"] for row in rows if row["healthy"]]

    async def until_healthy(self, *names: str) -> None:
        while await self.healthy() != list(names):  # noqa: ASYNC110 - the gateway is asked
            await trio.sleep(0.02)

    async def encode(self, text: str) -> httpx2.Response:
        return await self.gateway.post(f"/v1/encode/{MODEL}", json={"items": [{"text": text}]})


@asynccontextmanager
async def place(device: Device, folder: Path) -> AsyncIterator[Place]:
    stage = Stage(trio.Event(), ScriptedBus(), ScriptedQueue(), ScriptedLaunch((device,)))
    stop, port = trio.Event(), free_port()
    with trio.fail_after(LIMIT_S):
        async with open_either("double", folder) as broker, trio.open_nursery() as nursery:
            world = attrs.evolve(
                world_of(stage, ScriptedAuthority(), ScriptedPools()),
                open_bus=broker.open_bus,
                open_source=JetStreamSource,
                serve=serve_status,
            )
            settings = WorkerSettings(
                host=LOOPBACK, port=str(port), nats_url=broker.url, worker_id=WORKER, preload=(MODEL,)
            )

            async def work() -> None:
                await run_worker(settings, world)
                stage.ended.set()

            nursery.start_soon(work)
            of_gateway = GatewaySettings(
                host=LOOPBACK,
                port=0,
                nats_url=broker.url,
                config_service_url="http://config",
                health_mode="ws",
                workers=(f"http://{LOOPBACK}:{port}",),
            )
            gateway = GatewayWorld(machine(stop), broker.open_bus, open_authority, serve_hypercorn)
            url: str = await nursery.start(partial(run_gateway, of_gateway, gateway))
            async with (
                httpx2.AsyncClient(base_url=url, trust_env=False, timeout=LIMIT_S) as asking,
                httpx2.AsyncClient(base_url=f"http://{LOOPBACK}:{port}", trust_env=False) as looking,
            ):
                yield Place(asking, looking, port, stage.stop, stage.ended)
            stop.set()
            stage.stop.set()


async def test_a_gateway_in_ws_mode_routes_to_a_worker_that_it_hears_at_its_address(tmp_path: Path) -> None:
    async with place(Device(0.01), tmp_path) as at:
        await at.until_healthy(WORKER)
        answer = await at.encode("hello")
        assert (answer.status_code, answer.headers["x-sie-worker"]) == (200, WORKER)
        assert (await at.worker.get("/healthz")).text == "ok"
        assert (await at.worker.get("/readyz")).status_code == 200
        told = (await at.worker.get("/status")).json()
        assert (told["name"], told["ready"], told["loaded_models"]) == (WORKER, True, [MODEL])
        missing = await at.worker.get("/v1/models")
        assert (missing.status_code, missing.json()["detail"]["code"]) == (404, "NOT_FOUND")
        assert (await at.worker.post("/status")).status_code == 405


async def test_a_worker_that_drains_is_dropped_by_its_gateway_and_ends_with_what_runs(tmp_path: Path) -> None:
    async with place(Device(1.0), tmp_path) as at:
        await at.until_healthy(WORKER)
        answers = list[httpx2.Response]()

        async def ask() -> None:
            answers.append(await at.encode("hello"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            while (await at.worker.get("/status")).json()["work"]["running"] != 1:  # noqa: ASYNC110 - as above
                await trio.sleep(0.02)
            at.stop_worker.set()
            await at.until_healthy()
            assert not answers
            assert (await at.worker.get("/readyz")).text == "draining"
        assert [answer.status_code for answer in answers] == [200]
        began = trio.current_time()
        await at.ended.wait()
        assert trio.current_time() - began < 3  # no reader of its status holds it up


async def test_a_watcher_hears_frames_and_the_goodbye(tmp_path: Path) -> None:
    async with place(Device(0.01), tmp_path) as at:
        await at.until_healthy(WORKER)
        stream = await trio.open_tcp_stream(LOOPBACK, at.port)
        async with stream:
            connection, frames, closed = WSConnection(ConnectionType.CLIENT), list[str](), list[int]()
            await stream.send_all(connection.send(Handshake(host="worker", target="/ws/status")))
            while not closed:
                connection.receive_data(bytes(await stream.receive_some()) or None)
                for event in connection.events():
                    match event:
                        case TextMessage(data=data):
                            frames.append(str(data))
                        case CloseConnection(code=code):
                            closed.append(code)
                        case _:
                            pass
                if len(frames) >= 5:
                    at.stop_worker.set()
        assert closed == [1000]
        assert [json.loads(frames[at])["draining"] for at in (0, -1)] == [False, True]
