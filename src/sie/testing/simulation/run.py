"""One script, run to its end in one `trio.run` on a jumping clock, and judged: at each step, and when all is quiet.

At the end every fault is healed and what crashed is started; then nothing may be left of what was asked, every replica
must equal the authority, and a good request must be answered.
"""

import time
import traceback
from collections.abc import Mapping, Sequence

import attrs
import trio
from trio.testing import MockClock

from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.cluster.client import Ask
from sie.testing.cluster.cluster import Cluster, open_cluster
from sie.testing.cluster.looks import look_inside
from sie.testing.cluster.pool_calls import PoolCall
from sie.testing.cluster.writes import Read, Write
from sie.testing.simulation.clients import Clients
from sie.testing.simulation.pool_clients import PoolClients
from sie.testing.simulation.rest import come_to_rest
from sie.testing.simulation.scheduling import collected_between_runs, seed_scheduler
from sie.testing.simulation.script import Script, Step
from sie.testing.simulation.states import Coverage
from sie.testing.simulation.steps import Wait
from sie.testing.simulation.watch import Watch
from sie.testing.simulation.writers import Writers

START_LIMIT_S = 10.0
STEP_LIMIT_S = 100.0
"""Above every wait and the bound of an orderly stop."""
LOOK_S = 1.0
LIVELOCK = "livelock: the simulated time stands still, and tasks run"


@attrs.define
class Seen:
    """What a run has done so far; it is there even when the run breaks."""

    faults: dict[str, int] = attrs.field(factory=dict)
    coverage: Coverage = attrs.field(factory=Coverage)
    start_ms: float = 0.0


@attrs.frozen
class Callers:
    """All that take steps of clients."""

    clients: Clients
    writers: Writers
    pools: PoolClients


@attrs.frozen
class Report:
    """`log` is the same for the same script, byte for byte. `start_ms` is processor time until all were ready."""

    violations: Sequence[str]
    steps: int
    seen: Seen
    endings: Mapping[str, int] = attrs.field(factory=dict)
    counts: Mapping[str, int] = attrs.field(factory=dict)
    log: str = ""


def run_script(script: Script, folders: CatalogueFolders, watch: Watch | None = None) -> Report:
    watch, seen = watch or Watch(), Seen()
    seed_scheduler(script.seed)
    try:
        with watch.watching(), collected_between_runs():
            clock = MockClock(autojump_threshold=0)
            report = trio.run(_run, script, folders, seen, watch, clock=clock, instruments=[watch])
    except Exception as error:  # a service that fails by itself breaks the first rule there is
        if watch.is_stuck:
            return Report((LIVELOCK,), len(script.steps), seen)
        broken = "".join(traceback.format_exception(error))
        return Report((f"a service failed: {broken}",), len(script.steps), seen)
    return report or Report((LIVELOCK,), len(script.steps), seen)


async def _run(script: Script, folders: CatalogueFolders, seen: Seen, watch: Watch) -> Report | None:
    began = time.process_time()
    with watch.scope:
        async with open_cluster(script.topology, script.seed, folders) as cluster:
            clients, writers, pools = Clients(cluster), Writers(cluster), PoolClients(cluster)
            if not await cluster.wait_until(cluster.is_ready, START_LIMIT_S):
                cluster.ledger.violate(f"the cluster is not ready within {START_LIMIT_S:g} s of its start")
            seen.start_ms = (time.process_time() - began) * 1000
            await _play(script, cluster, Callers(clients, writers, pools), seen)
            if not cluster.ledger.violations:
                await come_to_rest(cluster, clients, writers, pools)
            ledger, steps = cluster.ledger, len(script.steps)
            counts = {**ledger.counts, **writers.endings, **pools.endings}
            return Report(tuple(ledger.violations), steps, seen, clients.endings, counts, cluster.log.text())
    return None


async def _play(script: Script, cluster: Cluster, callers: Callers, seen: Seen) -> None:
    """Stops at the first rule that is broken: what follows would only wait for it."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_look_on, cluster, seen.coverage)
        for number, step in enumerate(script.steps):
            cluster.log.add("script", str(number), type(step).__name__)
            with trio.move_on_after(STEP_LIMIT_S) as limit:
                await _take(step, cluster, callers, seen.faults)
            if limit.cancelled_caught:
                cluster.ledger.violate(f"step {number}, {step}, does not end within {STEP_LIMIT_S:g} s")
            if cluster.ledger.violations:
                break
            seen.coverage.look(cluster)
        nursery.cancel_scope.cancel()


async def _look_on(cluster: Cluster, coverage: Coverage) -> None:
    while True:
        coverage.look(cluster)
        look_inside(cluster)
        await trio.sleep(LOOK_S)


async def _take(step: Step, cluster: Cluster, callers: Callers, faults: dict[str, int]) -> None:
    match step:
        case Ask():
            callers.clients.ask_soon(step)
        case Write():
            callers.writers.write_soon(step)
        case Read():
            await callers.writers.read(step)
        case PoolCall():
            callers.pools.call_soon(step)
        case Wait(for_s):
            await trio.sleep(for_s)
        case fault:
            faults[type(fault).__name__] = faults.get(type(fault).__name__, 0) + 1
            await fault.begin(cluster)
    await trio.sleep(0.01)
    cluster.rules.history.back_up()
