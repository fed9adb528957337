"""What does a batch of texts cost on its way to the child and back, beside the same bytes through a bare socket?

Both children are processes on the other end of a Unix socket, and are asked in turn. What it costs with all that a
worker keeps of it (`Child.encode`) stands beside it.
"""

import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import attrs
import trio

from ci.lib.bench_figure import Figure
from ci.lib.bench_worker_child import batch_answer
from ci.lib.bench_worker_facts import BATCH, MODEL, encode_items
from sie.wire.ipc import READ_BYTES, EncodeBatch, Finished, FrameReader, Hello, LoadModel, frame
from sie.worker.children import launch_process, open_child
from sie.worker.core.state import ChildEvent, LoadEnded

LIMIT = 1.6
ROUNDS = 5
CHILD = (sys.executable, "-m", "ci.lib.bench_worker_child")


@attrs.frozen
class Trip:
    """There and back, and the process on the other side."""

    take: Callable[[], Awaitable[None]]
    pid: int


async def ipc_figure(count: int) -> Figure:
    """By the processor time of both sides, so that what else the machine does does not count."""
    async with AsyncExitStack() as stack:
        trips = [await stack.enter_async_context(one()) for one in (ours, bare, whole)]
        for trip in trips:
            await trip_us(trip, count)
        rounds = [[await trip_us(trip, count) for trip in trips] for _ in range(ROUNDS)]
    us, bare_us, whole_us = (min(one) for one in zip(*rounds, strict=True))
    details = {
        "of": "the best round of each",
        "ours_us": round(us, 1),
        "bare_us": round(bare_us, 1),
        "child_encode_us": round(whole_us, 1),
        "rounds": [[round(one, 1) for one in taken] for taken in rounds],
        "texts": BATCH,
        "bytes": [len(batch_frame()), len(batch_answer())],
    }
    return Figure("worker", "ipc_batch", us / bare_us, LIMIT, "of a bare echo", details)


async def trip_us(trip: Trip, count: int) -> float:
    before_s = time.thread_time() + cpu_s(trip.pid)
    for _ in range(count):
        await trip.take()
    return 1e6 * (time.thread_time() + cpu_s(trip.pid) - before_s) / count


def cpu_s(pid: int) -> float:
    """Of a process with one thread, to the nanosecond."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


ITEMS = encode_items()


def batch_frame() -> bytes:
    return frame(EncodeBatch(id=1, serving_id=MODEL, items=ITEMS))


@asynccontextmanager
async def ours() -> AsyncIterator[Trip]:
    """From the items of a batch to their outcomes."""
    async with launch_process(CHILD) as stream:
        reader = FrameReader()

        async def heard() -> object:
            while not (messages := reader.receive(bytes(await stream.receive_some(READ_BYTES)))):
                pass
            return messages[0]

        async def trip() -> None:
            await stream.send_all(batch_frame())
            answer = await heard()
            assert isinstance(answer, Finished)
            assert len(answer.outcomes) == BATCH

        hello = await heard()
        assert isinstance(hello, Hello)
        yield Trip(trip, hello.pid)


@asynccontextmanager
async def bare() -> AsyncIterator[Trip]:
    request, answered = batch_frame(), len(batch_answer())
    async with launch_process([*CHILD, "--echo", str(len(request))]) as stream:
        pid = int(await stream.receive_some())

        async def trip() -> None:
            await stream.send_all(request)
            got = 0
            while got < answered:
                got += len(await stream.receive_some())

        yield Trip(trip, pid)


@asynccontextmanager
async def whole() -> AsyncIterator[Trip]:
    """As the worker's dispatcher does it."""
    loaded, pids = trio.Event(), list[int]()

    def report(event: ChildEvent) -> None:
        match event:
            case Hello(pid=pid):
                pids.append(pid)
            case LoadEnded():
                loaded.set()
            case _:
                pass

    async with open_child(partial(launch_process, CHILD), report) as child:
        child.load_nowait(LoadModel(id=0, serving_id=MODEL, adapter_path="acme.encoders:Small", model_id=MODEL))
        await loaded.wait()

        async def trip() -> None:
            assert isinstance(await child.encode(MODEL, ITEMS), Finished)

        yield Trip(trip, pids[0])
