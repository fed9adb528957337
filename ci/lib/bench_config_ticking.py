"""The config service with a clock beside it, in its own loop: how long does the loop stand still (`ci/bench config`)?

Run as `python -m ci.lib.bench_config_ticking serve ...` in place of `sie.config`. Every gap between two ticks that is
over `NOTED_S` goes to the file that BENCH_GAPS_FILE names, as lines of its end, on the machine's monotonic clock, and
its length, once the service is stopped.
"""

import os
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NoReturn

import trio

from sie.bus.nats import open_bus
from sie.config.app import World, run
from sie.config.settings import ConfigSettings
from sie.runtime.command import service_group
from sie.runtime.service import run_service, running
from sie.runtime.world import real_machine
from sie.storage.opening import open_backend
from sie.telemetry.logs import logging_to_stderr
from sie.web.server import serve_hypercorn

FILE = "BENCH_GAPS_FILE"
TICK_S = 0.001
NOTED_S = 0.004


async def tick_forever(gaps: list[tuple[float, float]]) -> NoReturn:
    last = time.monotonic()
    while True:
        await trio.sleep(TICK_S)
        now = time.monotonic()
        if now - last > NOTED_S:
            gaps.append((now, now - last))
        last = now


def longest(lines: Iterable[str], began: float, ended: float) -> float:
    """Seconds: of the gaps that ended between the two; 0 where none was noted."""
    pairs = [tuple(map(float, line.split())) for line in lines]
    return max((length for at, length in pairs if began <= at <= ended), default=0.0)


def serve(settings: ConfigSettings) -> None:
    gaps: list[tuple[float, float]] = []
    with logging_to_stderr(level=settings.log_level, as_json=settings.log_json):
        run_service(partial(_run, settings, gaps))
    lines = [f"{at:.6f} {length:.6f}\n" for at, length in gaps]
    Path(os.environ[FILE]).write_text("".join(lines), encoding="utf-8")


async def _run(settings: ConfigSettings, gaps: list[tuple[float, float]], stop: trio.Event) -> None:
    async with running(partial(tick_forever, gaps)):
        await run(settings, World(real_machine(stop), serve_hypercorn, open_bus, open_backend, "bench"))


if __name__ == "__main__":
    service_group("ticking", ConfigSettings, serve, summary="sie-config with a clock beside it.")()
