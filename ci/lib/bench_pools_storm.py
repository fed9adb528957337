"""What does a storm of 10,000 changes in the cluster's API server cost a gateway (`ci/bench pools`), and does its loop
go on meanwhile? The server is a double in another process, reached over HTTP; here is the gateway's store alone.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO

import attrs
import trio

from ci.lib.bench_figure import Figure
from ci.lib.bench_pools_changes import EVENTS, last_of, pools_after
from ci.lib.bench_pools_facts import CAPPED, EIGHT_LANES, rounded, workers
from ci.lib.bench_pools_ticking import GAP_LIMIT_MS, Gap, Span, span, tick_forever
from ci.lib.demo_system import NotReady
from ci.lib.environment import ROOT
from sie.cli.child import dies_with
from sie.domain.ids import PoolName
from sie.domain.pool import Pool
from sie.gateway.core.pool_view import PoolView
from sie.gateway.pools.kubernetes import open_kubernetes_pools
from sie.kube.access import Access
from sie.kube.client import open_kube
from sie.runtime.service import running
from sie.runtime.world import RunInThread, real_machine

SECONDS_LIMIT = 2.0
ROUNDS = 5
QUICK_ROUNDS = 3
HEARD_WITHIN_S = 60.0
SETTLED_S = 0.2
"""Before and after what is measured."""
PROGRAM = "ci.lib.bench_pools_cluster"


@attrs.define(eq=False)
class Awaiting:
    """The gateway's view of its pools, and whether it has heard of one."""

    view: PoolView
    wanted: PoolName
    heard: trio.Event = attrs.field(factory=trio.Event, init=False)
    heard_at: float = attrs.field(default=0.0, init=False)

    def kept(self, pool: Pool) -> None:
        self.view.kept(pool)
        if pool.spec.name == self.wanted:
            self.heard_at = time.monotonic()
            self.heard.set()

    def gone(self, name: PoolName) -> None:
        self.view.gone(name)


@attrs.frozen
class Cluster:
    """The double's process, by its pipes."""

    says: IO[str]
    told: IO[str]
    run_in_thread: RunInThread

    async def url(self) -> str:
        return await self._line()

    async def storm(self, number: int) -> float:
        """When its changes were made."""
        self.told.write(f"{number}\n")
        self.told.flush()
        return float(await self._line())

    async def _line(self) -> str:
        with trio.fail_after(HEARD_WITHIN_S):
            line = await self.run_in_thread(self.says.readline)
        if not line:
            raise NotReady("the double of the API server has ended")
        return line.strip()


def storm_figures(quick: bool) -> Iterator[Figure]:
    with running_cluster() as process:
        listings, storms = trio.run(measured, process, QUICK_ROUNDS if quick else ROUNDS)
    yield from figures("first_listing", listings, {"pools": CAPPED})
    yield from figures("storm", storms, {"events": EVENTS, "pools": CAPPED})


def figures(name: str, spans: Sequence[Span], details: dict[str, object]) -> Iterator[Figure]:
    took_s, longest_ms = [taken.took_s for taken in spans], [taken.longest_ms for taken in spans]
    yield Figure(
        *("pools", name, min(took_s), SECONDS_LIMIT, "s"),
        {
            "of": "the best; until the last pool is known",
            "runs": rounded(took_s),
            "cpu_s": rounded([taken.cpu_s for taken in spans]),
            **details,
        },
    )
    yield Figure(
        *("pools", f"{name}_longest_gap", min(longest_ms), GAP_LIMIT_MS, "ms"),
        {
            "of": "the best; between two ticks of the loop",
            "runs": rounded(longest_ms),
            "longest_cpu_ms": rounded([taken.longest_cpu_ms for taken in spans]),
            "over_the_limit": [taken.over for taken in spans],
        },
    )


async def measured(process: subprocess.Popen[str], count: int) -> tuple[Sequence[Span], Sequence[Span]]:
    assert process.stdin is not None
    assert process.stdout is not None
    run_in_thread = real_machine(trio.Event()).run_in_thread
    cluster = Cluster(process.stdout, process.stdin, run_in_thread)
    url = await cluster.url()
    rounds = [await one_round(cluster, url, number, run_in_thread) for number in range(count)]
    return [listing for listing, _ in rounds], [storm for _, storm in rounds]


async def one_round(cluster: Cluster, url: str, number: int, run_in_thread: RunInThread) -> tuple[Span, Span]:
    """A gateway that starts, reads all pools, and hears of a storm."""
    view = PoolView.with_protected((), time.time())
    view.know(workers(EIGHT_LANES))
    awaiting, gaps = Awaiting(view, last_of(number)), list[Gap]()
    async with running(partial(tick_forever, gaps)), open_kube(Access(url), run_in_thread=run_in_thread) as kube:
        await trio.sleep(SETTLED_S)
        began = time.monotonic()
        async with open_kubernetes_pools(kube, awaiting, luck=random.Random(number).random):
            listed_at = time.monotonic()
            await trio.sleep(SETTLED_S)
            made_at = await cluster.storm(number)
            with trio.fail_after(HEARD_WITHIN_S):
                await awaiting.heard.wait()
            await trio.sleep(SETTLED_S)
    assert {pool.spec.name: pool for pool in view if not pool.is_protected} == pools_after(number + 1)
    return span(began, listed_at, gaps), span(made_at, awaiting.heard_at, gaps)


@contextmanager
def running_cluster() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", PROGRAM],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=dies_with(os.getpid()),  # noqa: PLW1509 -- two system calls; nothing that could hold a lock
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
