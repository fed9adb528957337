"""`sie-worker`: a worker as a process (§1), with its backend child as another."""

import importlib
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import attrs
import click
import trio

from sie.runtime.command import service_group
from sie.runtime.service import run_service
from sie.runtime.world import real_machine
from sie.telemetry.logs import logging_to_stderr
from sie.worker.children import Child, Report, launch_process
from sie.worker.core.state import ChildEvent
from sie.worker.devices import open_children
from sie.worker.settings import Plan, WorkerSettings, plan_worker

LATER = ("sie.bus.nats", "sie.authority.client", "sie.worker.app")
"""Imported while the backend process starts, which takes longer."""


def serve(settings: WorkerSettings) -> None:
    named = attrs.evolve(settings, worker_id=settings.worker_id or own_name())
    try:
        plan = plan_worker(named)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    with logging_to_stderr(level=named.log_level, as_json=named.log_json):
        run_service(partial(_run, named, plan))


async def _run(settings: WorkerSettings, plan: Plan, stop: trio.Event) -> None:
    early = EarlyEvents()
    launches = [partial(launch_process, backend_command(settings, device, plan.cache_dir)) for device in plan.devices]
    async with open_children(launches, early.report) as child:
        for module in LATER:
            await trio.to_thread.run_sync(importlib.import_module, module)
        # As LATER says: here they cost nothing any more.
        from sie.authority.client import open_http_authority  # noqa: PLC0415
        from sie.bus.nats import open_bus  # noqa: PLC0415
        from sie.worker.app import World, run  # noqa: PLC0415
        from sie.worker.consume.crash_book import CrashFiles  # noqa: PLC0415
        from sie.worker.consume.source import JetStreamSource  # noqa: PLC0415
        from sie.worker.gate import open_http_pools  # noqa: PLC0415
        from sie.worker.http.serving import serve_status  # noqa: PLC0415

        @asynccontextmanager
        async def open_started(report: Report) -> AsyncIterator[Child]:
            early.pass_to(report)
            yield child

        machine = real_machine(stop)
        open_authority = partial(open_http_authority, run_in_thread=machine.build_in_thread)
        open_pools = partial(open_http_pools, run_in_thread=machine.run_in_thread)
        world = World(
            machine,
            open_bus,
            open_authority,
            open_started,
            JetStreamSource,
            open_pools,
            serve=serve_status,
            crash_store=CrashFiles(Path(plan.cache_dir) / "crashes"),
        )
        await run(settings, world)


class EarlyEvents:
    """Keeps what a child says until there is somebody to hear it."""

    def __init__(self) -> None:
        self._kept: list[ChildEvent] = []
        self._report: Report | None = None

    def report(self, event: ChildEvent) -> None:
        (self._report or self._kept.append)(event)

    def pass_to(self, report: Report) -> None:
        self._report = report
        for event in self._kept:
            report(event)


def backend_command(settings: WorkerSettings, device: str, cache_dir: str) -> tuple[str, ...]:
    """-P: a file in the current folder that is named like a module must not be taken for it."""
    place = ("--device", device, "--cache-dir", cache_dir)
    logs = ("--log-level", settings.log_level, *(("--json-logs",) if settings.log_json else ()))
    return (sys.executable, "-P", "-m", "sie.backend", *place, *logs)


def own_name() -> str:
    """Unique as long as the process lives."""
    return f"{re.sub('[^A-Za-z0-9-]', '-', socket.gethostname())[:100]}-{os.getpid()}"


main = service_group("sie-worker", WorkerSettings, serve, summary="Takes work from its lane and runs it on a device.")

if __name__ == "__main__":
    main()
