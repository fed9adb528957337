"""The gateway with a clock beside it, in its own loop: how long does the loop stand still (`ci/bench convergence`)?

Run as `python -m ci.lib.bench_convergence_ticking serve ...` in place of `sie.gateway`. Once it is stopped, the
file that BENCH_GAPS_FILE names holds every gap between two ticks that is over `NOTED_S`, by its end, and `<it>.caught`
the span of each catching up, from its first read until its snapshot was built. All on the monotonic clock.
"""

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import attrs
import trio

from ci.lib.bench_config_ticking import FILE, tick_forever
from sie.authority.client import Authority, open_http_authority
from sie.bus.nats import open_bus
from sie.domain.bundle import Bundle
from sie.gateway.app import World, run
from sie.gateway.settings import GatewaySettings
from sie.runtime.command import service_group
from sie.runtime.service import run_service, running
from sie.runtime.world import RunInThread, real_machine
from sie.telemetry.logs import logging_to_stderr
from sie.web.server import serve_hypercorn
from sie.wire.configs_api import EpochReply, ExportReply

T = TypeVar("T")


@attrs.define
class Noted:
    """`caught` are the spans of the catchings up that came to a snapshot; `began` is when the last one read the list of
    bundles, which a poll that finds nothing new never does.
    """

    gaps: list[tuple[float, float]] = attrs.field(factory=list)
    caught: list[tuple[float, float]] = attrs.field(factory=list)
    began: float = 0.0

    def write(self, file: Path) -> None:
        file.write_text(lines_of(self.gaps), encoding="utf-8")
        file.with_name(f"{file.name}.caught").write_text(lines_of(self.caught), encoding="utf-8")


@attrs.frozen
class NotedAuthority:
    real: Authority
    noted: Noted

    async def read_epoch(self) -> EpochReply:
        return await self.real.read_epoch()

    async def read_bundles(self) -> tuple[Bundle, ...]:
        self.noted.began = time.monotonic()
        return await self.real.read_bundles()

    async def read_export(self) -> ExportReply:
        return await self.real.read_export()


def lines_of(pairs: list[tuple[float, float]]) -> str:
    return "".join(f"{first:.6f} {second:.6f}\n" for first, second in pairs)


def serve(settings: GatewaySettings) -> None:
    noted = Noted()
    with logging_to_stderr(level=settings.log_level, as_json=settings.log_json):
        run_service(partial(_run, settings, noted))
    noted.write(Path(os.environ[FILE]))


async def _run(settings: GatewaySettings, noted: Noted, stop: trio.Event) -> None:
    machine = real_machine(stop)
    build_noted = partial(_build_noted, noted, machine.build_in_thread)

    @asynccontextmanager
    async def open_authority(base_url: str, token: str | None) -> AsyncIterator[Authority]:
        async with open_http_authority(base_url, token, run_in_thread=machine.build_in_thread) as real:
            yield NotedAuthority(real, noted)

    watched = attrs.evolve(machine, build_in_thread=build_noted)
    async with running(partial(tick_forever, noted.gaps)):
        await run(settings, World(watched, open_bus, open_authority, serve_hypercorn))


async def _build_noted(noted: Noted, build: RunInThread, work: Callable[[], T]) -> T:
    """Of what is built, only a catching up's snapshot comes this way: there are no folders here."""
    built = await build(work)
    noted.caught.append((noted.began, time.monotonic()))
    return built


if __name__ == "__main__":
    service_group("ticking", GatewaySettings, serve, summary="sie-gateway with a clock beside it.")()
