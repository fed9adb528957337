"""The real config service in place: over folders on disk, with a store and a broker where a test wants them."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import attrs
import httpx2
import trio

from sie.bus.api import Bus, Message
from sie.bus.nats import open_bus
from sie.config.app import World, run
from sie.config.settings import ConfigSettings
from sie.storage.backend import Backend
from sie.storage.opening import open_backend
from sie.testing.broker.face import open_broker, open_broker_bus
from sie.testing.broker.model import Broker
from tests.in_place import ServerInPlace, machine_in_place

BUNDLE = "{name: alpha, priority: 10, adapters: [acme.enc, acme.both]}"
BETA = "{name: beta, priority: 20, adapters: [acme.rank, acme.both]}"
MODEL = "# by hand\nsie_id: acme/m\nprofiles: {default: {adapter_path: 'acme.enc:C'}, fast: {extends: default}}\n"
URL = "nats://model"


@attrs.define
class Stage:
    """`heard` are the deltas as they came, in order; `broker` is None where the service has none."""

    client: httpx2.AsyncClient
    broker: Broker | None
    heard: list[Message] = attrs.field(factory=list)

    @property
    def deltas(self) -> list[Mapping[str, object]]:
        return [json.loads(m.data) for m in self.heard if m.subject.endswith("._all")]

    async def post(self, text: str, key: str | None = None, token: str | None = None) -> httpx2.Response:
        return await self.client.post("/v1/configs/models", content=text, headers=_headers(key, token))

    async def put(self, model: str, text: str, key: str | None = None) -> httpx2.Response:
        return await self.client.put(f"/v1/configs/models/{model}", content=text, headers=_headers(key, None))

    async def delete(self, model: str, key: str | None = None) -> httpx2.Response:
        return await self.client.delete(f"/v1/configs/models/{model}", headers=_headers(key, None))

    async def epoch(self) -> int:
        told: int = (await self.client.get("/v1/configs/epoch")).json()["epoch"]
        return told

    async def models(self) -> list[str]:
        return [row["model_id"] for row in (await self.client.get("/v1/configs/models")).json()["models"]]


@asynccontextmanager
async def open_stage(
    folder: Path, *, broker: bool = False, backend: Backend | None = None, **settings: object
) -> AsyncIterator[Stage]:
    """`backend` stands for whatever `store_dir` names."""
    server, stop = ServerInPlace(), trio.Event()
    (folder / "models").mkdir(exist_ok=True)
    named = {"bundles_dir": str(folder), "nats_url": URL if broker else None, **settings}
    if backend is not None:
        named["store_dir"] = "double"
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(open_broker()) if broker else None
        dial = partial(open_broker_bus, model) if model is not None else open_bus
        opened = open_backend if backend is None else lambda _: backend
        world = World(machine_in_place(stop, unix_s=lambda: 0.0), server.serve, dial, opened, "sie-config-0")
        nursery = await stack.enter_async_context(trio.open_nursery())
        used = ConfigSettings(**named)  # type: ignore[arg-type]  # each test names its own
        await nursery.start(partial(run, used, world))
        stage = Stage(await stack.enter_async_context(server.client()), model)
        if model is not None:
            await _listen(stack, model, stage)
        yield stage
        stop.set()


async def _listen(stack: AsyncExitStack, broker: Broker, stage: Stage) -> None:
    bus: Bus = await stack.enter_async_context(open_broker_bus(broker, URL, inbox="_INBOX.test", name="test"))
    await stack.enter_async_context(bus.subscribe("sie.config.models.>", stage.heard.append))
    await bus.wait_session()
    await trio.sleep(0.1)  # by then the service has its connection too


def _headers(key: str | None, token: str | None) -> dict[str, str]:
    keyed = {"Idempotency-Key": key} if key is not None else {}
    return {**keyed, **({"Authorization": f"Bearer {token}"} if token is not None else {})}
