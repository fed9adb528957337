"""Our worker's own process with a child, that tells what it costs (`ci/bench worker`).

Run as `python -m ci.lib.bench_worker_parent NATS_URL scripted LOAD_S BATCH_S`, or with `minilm` in place of the last
three for the real backend. It answers each line of its input with the seconds of processor time that it has taken, and
ends with its input.
"""

import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import attrs
import trio

from ci.lib.bench_worker_facts import Served, minilm, scripted
from ci.lib.demo_model import cache_folder
from sie.authority.client import Authority
from sie.bus.nats import open_bus
from sie.domain.bundle import Bundle
from sie.runtime.service import run_service
from sie.runtime.world import real_machine
from sie.wire.configs_api import EpochReply, ExportReply
from sie.worker.__main__ import backend_command
from sie.worker.app import World, run
from sie.worker.children import launch_process, open_child
from sie.worker.consume.source import JetStreamSource
from sie.worker.settings import WorkerSettings


@attrs.frozen
class OneModel:
    """An authority that knows one model and one bundle."""

    served: Served

    async def read_epoch(self) -> EpochReply:
        return EpochReply(epoch=1)

    async def read_bundles(self) -> tuple[Bundle, ...]:
        return (self.served.bundle,)

    async def read_export(self) -> ExportReply:
        return ExportReply(epoch=1, models=(self.served.row,))


async def serve(url: str, kind: str, times: list[str], stop: trio.Event) -> None:
    served = minilm() if kind == "minilm" else scripted()

    @asynccontextmanager
    async def open_one_model(base_url: str, token: str | None) -> AsyncIterator[Authority]:
        assert base_url
        assert token is None
        yield OneModel(served)

    open_one = partial(open_child, partial(launch_process, child_command(kind, times)))
    world = World(real_machine(stop), open_bus, open_one_model, open_one, JetStreamSource)
    async with trio.open_nursery() as nursery:
        settings = WorkerSettings(worker_id="w1", nats_url=url, preload=(served.model.sie_id,))
        await nursery.start(partial(run, settings, world))
        await told_until_the_end()
        stop.set()


def child_command(kind: str, times: list[str]) -> tuple[str, ...]:
    if kind == "minilm":
        return backend_command(WorkerSettings(log_level="warning"), "cpu", str(cache_folder()))
    load_s, batch_s = times
    return (sys.executable, "-m", "ci.lib.bench_worker_child", "--load-s", load_s, "--batch-s", batch_s)


async def told_until_the_end() -> None:
    while await trio.to_thread.run_sync(sys.stdin.readline):
        print(time.process_time(), flush=True)


if __name__ == "__main__":
    run_service(partial(serve, sys.argv[1], sys.argv[2], sys.argv[3:]))
