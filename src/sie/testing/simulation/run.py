"""One script, run to its end in one `trio.run` on a jumping clock, and judged: at each step, and when all is quiet.

At the end every fault is healed and every process is up; then nothing may be left of what was asked, every replica must
equal the authority, and a good request must be answered.
"""

import traceback
from collections.abc import Mapping, Sequence

import attrs
import trio
from trio.testing import MockClock

from sie.domain.worker import HEARTBEAT_INTERVAL_S
from sie.testing.cluster.catalogue import EDITIONS, SMALL, CatalogueFolders
from sie.testing.cluster.client import Ask
from sie.testing.cluster.cluster import Cluster, open_cluster
from sie.testing.simulation.clients import Clients
from sie.testing.simulation.scheduling import seed_scheduler
from sie.testing.simulation.script import Script, Step, Wait

ANSWER_LIMIT_S = 120.0
READY_LIMIT_S = 300.0
SETTLE_LIMIT_S = 200.0
QUIET_LIMIT_S = 2400.0
"""Above the max_age of work streams: what nobody may finish expires by then."""


@attrs.frozen
class Report:
    """`log` is the same for the same script, byte for byte."""

    violations: Sequence[str]
    steps: int
    faults: Mapping[str, int]
    endings: Mapping[str, int]
    counts: Mapping[str, int]
    log: str


def run_script(script: Script, folders: CatalogueFolders) -> Report:
    faults: dict[str, int] = {}
    seed_scheduler(script.seed)
    try:
        return trio.run(_run, script, folders, faults, clock=MockClock(autojump_threshold=0))
    except Exception as error:  # a service that fails by itself breaks the first rule there is
        broken = "".join(traceback.format_exception(error))
        return Report((f"a service failed: {broken}",), len(script.steps), faults, {}, {}, "")


async def _run(script: Script, folders: CatalogueFolders, faults: dict[str, int]) -> Report:
    async with open_cluster(script.topology, script.seed, folders) as cluster:
        clients = Clients(cluster)
        await cluster.wait_until(cluster.is_ready, READY_LIMIT_S)
        for number, step in enumerate(script.steps):
            cluster.log.add("script", str(number), type(step).__name__)
            await _take(step, cluster, clients, faults)
            if cluster.ledger.violations:
                break
        if not cluster.ledger.violations:
            await _come_to_rest(cluster, clients)
        ledger = cluster.ledger
        return Report(
            tuple(ledger.violations), len(script.steps), faults, clients.endings, ledger.counts, cluster.log.text()
        )


async def _take(step: Step, cluster: Cluster, clients: Clients, faults: dict[str, int]) -> None:
    match step:
        case Ask():
            clients.ask_soon(step)
        case Wait(for_s):
            await trio.sleep(for_s)
        case fault:
            faults[type(fault).__name__] = faults.get(type(fault).__name__, 0) + 1
            await fault.begin(cluster)
    await trio.sleep(0.01)


async def _come_to_rest(cluster: Cluster, clients: Clients) -> None:
    """Stops at the first rule that is broken: what follows would only wait for it."""
    await trio.sleep(60)  # what was to end by itself has ended
    cluster.heal()
    if not await cluster.wait_until(lambda: not clients.waiting, ANSWER_LIMIT_S):
        cluster.ledger.violate(f"{clients.waiting} requests have no answer")
        return
    await cluster.restart_stale()
    if not await cluster.wait_until(cluster.is_ready, READY_LIMIT_S):
        cluster.ledger.violate("the cluster does not come up again")
        return
    await trio.sleep(2 * HEARTBEAT_INTERVAL_S)  # a gateway that just started has heard of every worker by then
    if not await cluster.wait_until(lambda: not any(cluster.unrest()), SETTLE_LIMIT_S):
        cluster.ledger.violate(f"left behind: {'; '.join(cluster.unrest())}")
        return
    if not await cluster.wait_until(lambda: not any(cluster.network.leftovers()), QUIET_LIMIT_S):
        cluster.ledger.violate(f"left behind: {'; '.join(cluster.network.leftovers())}")
        return
    await _check_gateways(cluster, clients)


async def _check_gateways(cluster: Cluster, clients: Clients) -> None:
    wanted = sorted({*EDITIONS[cluster.config.served_edition]})
    for number, gateway in enumerate(cluster.gateways):
        name = gateway.process.name
        models = sorted({serving_id.partition(":")[0] for serving_id in await cluster.models(gateway)})
        if models != wanted:
            cluster.ledger.violate(f"{name} knows {models}, the authority {wanted}")
        ending = await clients.ask(Ask(number, SMALL, 2))
        if ending != "answered":
            cluster.ledger.violate(f"{name} tells a good request {ending} when all is well")
        in_flight = (await cluster.health(gateway))["in flight"]
        if in_flight:
            cluster.ledger.violate(f"{name} holds {in_flight} requests when nobody asks")
