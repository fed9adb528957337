"""Does the worker add little to what its device does (`ci/bench worker`)? With a child that answers from a script.

Processor time of the worker's own process beside a loop that only pulls and acks; a batch to the child and back beside
the same bytes through a bare socket; what becomes of the work when the child is killed; and, with the real model, how
long its device waits.
"""

import os
import signal
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs
import trio

from ci.lib.bench_dispatch_processes import Child, running
from ci.lib.bench_figure import Figure
from ci.lib.bench_worker_facts import BARE_LANE, IN_FLIGHT, minilm, scripted
from ci.lib.bench_worker_ipc import ipc_figure
from ci.lib.bench_worker_load import Answered, Feed, open_feed
from ci.lib.demo_model import fetch_checkpoint
from ci.lib.demo_system import NotReady
from sie.testing.nats_server import open_nats_server

CPU_LIMIT = 4.0
KILL_LIMIT_S = 2.0
IDLE_LIMIT_PERCENT = 5.0
RUNS = 3
WARM = 1_000
BATCH_S = 0.005
"""What the scripted device takes for a batch, as a small model on a good device does."""
UNDER_LOAD = 256
"""Items under way for the real model: more than two of its batches."""
LOAD_S = 1.0
AFTER_S = 0.2
"""A result that comes so long after the child was killed is not of that child."""


@attrs.frozen
class Counts:
    """Items of one measured run; batches sent one after the other; items while the child is killed, and texts for the
    real model.
    """

    cpu: int = 8_000
    round_trips: int = 400
    killed: int = 4_000
    texts: int = 8_000


QUICK = Counts(cpu=3_000, round_trips=150, killed=1_500, texts=1_200)


def worker(quick: bool) -> Iterator[Figure]:
    counts = QUICK if quick else Counts()
    yield trio.run(cpu_figure, counts.cpu)
    yield trio.run(ipc_figure, counts.round_trips)
    yield from trio.run(kill_figures, counts.killed)
    yield trio.run(idle_figure, counts.texts)


async def cpu_figure(count: int) -> Figure:
    """By process time, so that what else the machine does counts for neither."""
    async with broker() as url, open_feed(url, scripted()) as feed, open_feed(url, scripted(), BARE_LANE) as bare_feed:
        with parent(url, 0.0) as ours, running("bench_worker_bare", url) as bare:
            await feed.run(WARM)
            await bare_feed.run(WARM)
            taken = [(await _item_us(ours, feed, count), await _item_us(bare, bare_feed, count)) for _ in range(RUNS)]
    us, bare_us = (min(runs) for runs in zip(*taken, strict=True))
    details = {
        "of": "the best of each",
        "ours_us": round(us, 1),
        "bare_us": round(bare_us, 1),
        "runs": [[round(one, 1) for one in run] for run in taken],
        "in_flight": IN_FLIGHT,
        "items": count,
        "batch_s": BATCH_S,
    }
    return Figure("worker", "parent_cpu_per_item", us / bare_us, CPU_LIMIT, "of a bare loop", details)


async def _item_us(process: Child, feed: Feed, count: int) -> float:
    before_s = await _cpu_s(process)
    await feed.run(count)
    return 1e6 * (await _cpu_s(process) - before_s) / count


async def _cpu_s(process: Child) -> float:
    return float(await trio.to_thread.run_sync(process.told, "cpu"))


async def kill_figures(count: int) -> list[Figure]:
    runs = [await _kill_once(count) for _ in range(RUNS)]
    best = min(runs, key=lambda run: run.next_s)
    wrong = sum(run.lost + run.twice for run in runs)
    details = {"load_s": LOAD_S, "runs_s": [round(run.next_s, 3) for run in runs]}
    counts = {"lost": sum(run.lost for run in runs), "twice": sum(run.twice for run in runs), "items": RUNS * count}
    return [
        Figure("worker", "next_result_after_kill", best.next_s - LOAD_S, KILL_LIMIT_S, "s beside the load", details),
        Figure("worker", "lost_or_answered_twice", wrong, 0, "items", counts),
    ]


@attrs.frozen
class Killed:
    """`next_s` is from the kill to the first result of the next child."""

    next_s: float
    lost: int
    twice: int


async def _kill_once(count: int) -> Killed:
    async with broker() as url, open_feed(url, scripted()) as feed:
        with parent(url, LOAD_S) as ours:
            await feed.run(WARM)
            feed.start(count)
            while feed.acked < WARM + count // 2:  # noqa: ASYNC110 - in the midst of it
                await trio.sleep(0.001)
            os.kill(child_of(ours.process.pid), signal.SIGKILL)
            killed_s = time.monotonic()
            await feed.done.wait()
    next_s = min(one.at_s for one in feed.results if one.at_s > killed_s + AFTER_S) - killed_s
    twice = sum(times - 1 for times in feed.answers.values())
    return Killed(next_s, feed.sent - len(feed.answers), twice)


def child_of(pid: int) -> int:
    """The scripted child among the processes that one started, from whichever of its threads."""
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in listed.read_text().split():
            if b"bench_worker_child" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
    raise NotReady("the worker has no child")


async def idle_figure(count: int) -> Figure:
    """By what the backend tells of its batches: what they computed, of the time between the first and the last."""
    fetch_checkpoint(lambda _: None)
    served = minilm()
    async with broker() as url, open_feed(url, served, in_flight=UNDER_LOAD) as feed:
        with running("bench_worker_parent", url, "minilm"):
            await feed.run(WARM)
            runs = [await _idle_once(feed, count) for _ in range(RUNS)]
    details = {"runs": [round(one, 2) for one in runs], "texts": count, "in_flight": UNDER_LOAD}
    return Figure("worker", "device_idle", min(runs), IDLE_LIMIT_PERCENT, "% of the time", details)


async def _idle_once(feed: Feed, count: int) -> float:
    begun = len(feed.results)
    await feed.run(count)
    return idle_percent(feed.results[begun:])


def idle_percent(results: Sequence[Answered]) -> float:
    """From the end of the first batch to the end of the last, each of which is told as often as it has items."""
    ends = {one.batch: one.at_s for one in reversed(results)}
    first, *rest = sorted(ends, key=lambda batch: ends[batch])
    computed_s = sum(batch.inference_ms for batch in rest) / 1000
    return 100 * (1 - computed_s / (ends[rest[-1]] - ends[first]))


@asynccontextmanager
async def broker() -> AsyncIterator[str]:
    with TemporaryDirectory() as folder:
        async with open_nats_server(store_dir=Path(folder)) as server:
            yield server.url


def parent(url: str, load_s: float) -> AbstractContextManager[Child]:
    return running("bench_worker_parent", url, "scripted", str(load_s), str(BATCH_S))
