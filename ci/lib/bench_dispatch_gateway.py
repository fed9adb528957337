"""Our gateway without an HTTP server, in one process with what asks it (`ci/bench dispatch`).

Run as `python -m ci.lib.bench_dispatch_gateway NATS_URL TIMEOUT_S`. Each line of its input is an order, and it answers
each with a line, both JSON; it ends with its input. The application is the one that `sie.gateway.app.run` serves, on a
real connection to the broker, called with one ASGI scope a request.
"""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

import attrs
import trio
from hypercorn.typing import ASGIFramework

from ci.lib.bench_dispatch_asking import Driver, memory
from ci.lib.bench_dispatch_bare import Bare
from ci.lib.bench_dispatch_facts import BUNDLE, ROW
from sie.authority.client import Authority
from sie.bus.nats import open_bus
from sie.domain.bundle import Bundle
from sie.gateway.app import World, run
from sie.gateway.settings import GatewaySettings
from sie.runtime.service import run_service
from sie.runtime.world import real_machine
from sie.wire.configs_api import EpochReply, ExportReply


@attrs.frozen
class OneModel:
    """An authority that knows one model and one bundle."""

    async def read_epoch(self) -> EpochReply:
        return EpochReply(epoch=1)

    async def read_bundles(self) -> tuple[Bundle, ...]:
        return (BUNDLE,)

    async def read_export(self) -> ExportReply:
        return ExportReply(epoch=1, models=(ROW,))


@asynccontextmanager
async def open_one_model(base_url: str, token: str | None) -> AsyncIterator[Authority]:
    assert base_url
    assert token is None
    yield OneModel()


@attrs.frozen
class InPlace:
    """A `Serve` that has no socket: it carries out orders against the application until there are no more."""

    url: str

    async def serve(
        self,
        app: ASGIFramework,
        *,
        host: str,
        port: int,
        stop: trio.Event,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        task_status.started(f"http://{host}:{port}")
        driver, bare = Driver(app), Bare(self.url)
        await driver.answered()
        print("ready", flush=True)
        while line := await trio.to_thread.run_sync(sys.stdin.readline):
            print(json.dumps(await self.carried_out(driver, bare, json.loads(line))), flush=True)
        stop.set()

    async def carried_out(self, driver: Driver, bare: Bare, order: Mapping[str, object]) -> Mapping[str, object]:
        match order:
            case {"do": "ask", "kind": str(kind), "count": int(count), "width": int(width), "tells": bool(tells)}:
                return await driver.ask(kind, count, width, tells=tells)
            case {"do": "bulk", "kind": str(kind)}:
                return await driver.bulk(kind)
            case {"do": "bare"}:
                return await bare.once()
            case {"do": "memory"}:
                return await memory()
            case _:
                raise ValueError(f"no such order: {order}")


async def serve(url: str, timeout_s: float, stop: trio.Event) -> None:
    settings = GatewaySettings(nats_url=url, config_service_url="http://config", request_timeout_s=timeout_s)
    await run(settings, World(real_machine(stop), open_bus, open_one_model, InPlace(url).serve))


if __name__ == "__main__":
    run_service(partial(serve, sys.argv[1], float(sys.argv[2])))
