"""`sie-config`: the config service as a process (§1)."""

import os
import platform
from functools import partial

import trio

from sie.bus.nats import open_bus
from sie.config.app import World, run
from sie.config.settings import ConfigSettings
from sie.runtime.command import service_group
from sie.runtime.service import run_service
from sie.runtime.world import real_machine
from sie.storage.opening import open_backend
from sie.telemetry.logs import logging_to_stderr
from sie.web.server import serve_hypercorn


def serve(settings: ConfigSettings) -> None:
    with logging_to_stderr(level=settings.log_level, as_json=settings.log_json):
        run_service(partial(_run, settings))


async def _run(settings: ConfigSettings, stop: trio.Event) -> None:
    producer = f"{platform.node()}-{os.getpid()}"
    await run(settings, World(real_machine(stop), serve_hypercorn, open_bus, open_backend, producer))


main = service_group("sie-config", ConfigSettings, serve, summary="The single writer of bundles, models and the epoch.")

if __name__ == "__main__":
    main()
