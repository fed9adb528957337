"""The processes of `ci/bench dispatch`: a broker, a worker, our gateway, the reference. They end with the bench."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs
import trio

from ci.lib.bench_dispatch_load import get
from ci.lib.demo_system import NotReady
from sie.cli.child import dies_with
from sie.testing.nats_server import free_port, open_nats_server

READY_S = 30.0
ENDED_S = 10.0


@attrs.frozen
class Child:
    process: subprocess.Popen[str]

    def said(self) -> str:
        """Its next line. Raises NotReady."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise NotReady(f"{self.process.args!r} ended")
        return line

    def told(self, line: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.said()


@attrs.frozen
class Ours:
    child: Child

    async def do(self, do: str, **more: object) -> Mapping[str, object]:
        order = json.dumps({"do": do, **more})
        answer: Mapping[str, object] = json.loads(await trio.to_thread.run_sync(self.child.told, order))
        return answer


@contextmanager
def running(module: str, *arguments: str) -> Iterator[Child]:
    """A module of this folder that ends with its input."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"ci.lib.{module}", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=dies_with(os.getpid()),  # noqa: PLW1509 -- two system calls; nothing that could hold a lock
    )
    try:
        yield Child(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(ENDED_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@asynccontextmanager
async def broker_and_worker() -> AsyncIterator[str]:
    """The broker's URL."""
    with TemporaryDirectory() as folder:
        async with open_nats_server(store_dir=Path(folder)) as server:
            with running("bench_dispatch_worker", server.url) as worker:
                await trio.to_thread.run_sync(worker.said)
                yield server.url


@asynccontextmanager
async def our_gateway(url: str, *, timeout_s: float = 120.0) -> AsyncIterator[Ours]:
    with running("bench_dispatch_gateway", url, str(timeout_s)) as child:
        await trio.to_thread.run_sync(child.said)
        yield Ours(child)


@asynccontextmanager
async def reference_gateway(url: str) -> AsyncIterator[int]:
    """The port that it serves."""
    port = free_port()
    with running("bench_dispatch_reference", str(port), url) as child:
        with trio.fail_after(READY_S):
            while not await _serves(port, child):  # noqa: ASYNC110 - a port tells nobody when it opens
                await trio.sleep(0.05)
        yield port
        child.process.terminate()


async def _serves(port: int, child: Child) -> bool:
    if child.process.poll() is not None:
        raise NotReady("the reference gateway ended at once")
    try:
        await get(port, "/cpu")
    except OSError:
        return False
    return True
