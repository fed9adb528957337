"""A worker as a process of its own, with a backend process beside it: all real but for what the models are.

Its settings come from the environment, as always.
"""

import os
from functools import partial

import trio

from sie.bus.nats import open_bus
from sie.runtime.service import run_service
from sie.runtime.settings import Sources, resolve
from sie.runtime.world import real_machine
from sie.worker.app import World, run
from sie.worker.consume.source import JetStreamSource
from sie.worker.http.serving import serve_status
from sie.worker.settings import WorkerSettings
from tests.worker.real_child import open_real_child
from tests.worker.test_real_queue import open_one_model


async def serve(settings: WorkerSettings, stop: trio.Event) -> None:
    machine = real_machine(stop)
    await run(settings, World(machine, open_bus, open_one_model, open_real_child, JetStreamSource, serve=serve_status))


if __name__ == "__main__":
    run_service(partial(serve, resolve(WorkerSettings, Sources({}, os.environ, {})).settings))
