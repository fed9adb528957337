"""The backend as a process: started by a worker, tied to it by a socket, and gone when that closes. Not for people.

What loads import is imported in a thread from the first moment, while the worker still connects and reads its export.
"""

import argparse
import os
import signal
from collections.abc import Mapping
from functools import partial

import attrs
import trio

from sie.backend.catalog import ADAPTERS, Catalog, import_early
from sie.backend.host_memory import memory_bytes
from sie.backend.serve import serve
from sie.telemetry.logs import logging_to_stderr

EARLY = ("sie.adapters.tasks.dense",)
"""Brings JAX with it, which takes most of a start."""


@attrs.frozen(kw_only=True)
class Options:
    socket: str
    device: str
    cache_dir: str
    log_level: str
    json_logs: bool


def main() -> None:
    options = read_options()
    os.environ.update(device_environment(options.device))
    with logging_to_stderr(level=options.log_level, as_json=options.json_logs):
        serve_worker(options, early=EARLY, prefix=ADAPTERS)


def serve_worker(options: Options, *, early: tuple[str, ...], prefix: str) -> None:
    """Until the socket closes, which alone ends this process: Ctrl-C in a terminal is for the worker, which drains."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    trio.run(run, options, early, prefix)


async def run(options: Options, early: tuple[str, ...], prefix: str) -> None:
    stream = await trio.open_unix_socket(options.socket)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, import_early, early)
        catalog = Catalog(options.cache_dir, prefix)
        end, memory = partial(os._exit, 0), memory_bytes(options.device)
        await serve(stream, catalog, device=options.device, end=end, memory_bytes=memory)


def device_environment(device: str) -> Mapping[str, str]:
    """What keeps JAX to one device. It would look for all others too, and may wait long for one that is not there."""
    kind, _, number = device.partition(":")
    chosen = {"CUDA_VISIBLE_DEVICES": number} if number else {}
    return {"JAX_PLATFORMS": "cuda,cpu" if kind == "cuda" else kind, **chosen}


def read_options() -> Options:
    parser = argparse.ArgumentParser(prog="python -m sie.backend", description=__doc__)
    parser.add_argument("--socket", required=True, help="the worker's Unix socket")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--cache-dir", required=True, help="downloads and compiled programs")
    parser.add_argument("--log-level", default="info")
    parser.add_argument("--json-logs", action="store_true")
    return Options(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
