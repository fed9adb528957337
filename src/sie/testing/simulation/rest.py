"""Does a cluster come to rest once nothing is wrong any more? Everything is healed, waited for, and looked at.

Processes that run must recover by themselves; only what crashed is started, and only at last does an operator help.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio

from sie.testing.cluster.catalogue import ADDED, SERVED
from sie.testing.cluster.client import Ask
from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.looks import look_inside
from sie.testing.cluster.nodes import GatewayNode
from sie.testing.simulation.clients import Clients
from sie.testing.simulation.convergence import all_equal, converged, is_kept, is_told
from sie.testing.simulation.excuses import RECONNECT_S
from sie.testing.simulation.pool_clients import PoolClients
from sie.testing.simulation.pools_at_rest import pools_agree, pools_work
from sie.testing.simulation.writers import Writers

ANSWER_LIMIT_S = 100.0
"""Twice a request's own limit."""
RECOVER_LIMIT_S = 120.0
"""A process that is being stopped and started again; a config service asked again after a minute at most."""
SETTLE_LIMIT_S = 300.0
"""An input that takes the backend down does so three times, each time ten seconds after the last at most."""
QUIET_LIMIT_S = 2400.0
"""Above the max_age of work streams: what nobody may finish expires by then."""
TRIES = 8
TRY_AGAIN_S = 60.0
"""As a client does that is told to: together more than a model rests that could not be loaded."""


async def come_to_rest(cluster: Cluster, clients: Clients, writers: Writers, pools: PoolClients) -> None:
    """Stops at the first rule that is broken: what follows would only wait for it."""
    checks: tuple[Callable[[], Awaitable[None]], ...] = (
        partial(_answered, cluster, clients, writers),
        partial(converged, cluster),
        partial(_recovered, cluster),
        partial(_settled, cluster),
        partial(_asked, cluster, clients),
        partial(_helped, cluster, clients),
        partial(_settled, cluster),
        partial(pools_agree, cluster, pools),
        partial(pools_work, cluster, pools),
        partial(is_told, cluster, writers),
        partial(is_kept, cluster),
        partial(_quiet, cluster),
        partial(all_equal, cluster),
        partial(_idle, cluster),
        partial(_looked_at, cluster),
    )
    for check in checks:
        if not cluster.ledger.violations:
            await check()


async def _answered(cluster: Cluster, clients: Clients, writers: Writers) -> None:
    cluster.heal()
    await cluster.rival.process.kill()
    if not await cluster.wait_until(lambda: not clients.waiting, ANSWER_LIMIT_S):
        cluster.ledger.violate(f"{clients.waiting} requests have no answer")
    if not await cluster.wait_until(lambda: not writers.waiting, ANSWER_LIMIT_S):
        cluster.ledger.violate(f"{writers.waiting} writes have no answer")


async def _recovered(cluster: Cluster) -> None:
    """Nobody who runs is touched."""
    cluster.start_crashed()
    await trio.sleep(RECONNECT_S)
    if not await cluster.wait_until(cluster.is_ready, RECOVER_LIMIT_S):
        cluster.ledger.violate("the cluster does not recover by itself")


async def _asked(cluster: Cluster, clients: Clients) -> None:
    """Where no operator has to help."""
    if all(map(cluster.is_current, cluster.workers)):
        await _ask_all(cluster, clients, cluster.gateways)


async def _helped(cluster: Cluster, clients: Clients) -> None:
    if all(map(cluster.is_current, cluster.workers)):
        return
    await cluster.restart_stale()
    if not await cluster.wait_until(cluster.is_ready, RECOVER_LIMIT_S):
        cluster.ledger.violate("the cluster does not come up again")
    else:
        await _ask_all(cluster, clients, cluster.gateways)


async def _settled(cluster: Cluster) -> None:
    if not await cluster.wait_until(lambda: not any(cluster.unrest()), SETTLE_LIMIT_S):
        cluster.ledger.violate(f"left behind: {'; '.join(cluster.unrest())}")


async def _quiet(cluster: Cluster) -> None:
    if not await cluster.wait_until(lambda: not any(cluster.network.leftovers()), QUIET_LIMIT_S):
        cluster.ledger.violate(f"left behind: {'; '.join(cluster.network.leftovers())}")


async def _idle(cluster: Cluster) -> None:
    for gateway in cluster.gateways:
        in_flight = (await cluster.health(gateway))["in flight"]
        if in_flight:
            cluster.ledger.violate(f"{gateway.process.name} holds {in_flight} requests when nobody asks")


async def _looked_at(cluster: Cluster) -> None:
    """Demand that nobody renewed is long over."""
    look_inside(cluster)


async def _ask_all(cluster: Cluster, clients: Clients, gateways: Sequence[GatewayNode]) -> None:
    for gateway in gateways:
        for model in (*SERVED, *({ADDED} & cluster.config.exported.documents.keys())):
            ask = Ask(cluster.gateways.index(gateway), model, 2)
            if (ending := await _ask_until_answered(clients, ask)) != "answered":
                cluster.ledger.violate(f"{gateway.process.name} tells a good request {ending} when all is well")
                return


async def _ask_until_answered(clients: Clients, ask: Ask) -> str:
    """How the last try ended."""
    ending = ""
    for _ in range(TRIES):
        ending = await clients.ask(ask)
        if ending not in ("MODEL_LOADING", "MODEL_LOAD_FAILED"):
            break
        await trio.sleep(TRY_AGAIN_S)
    return ending
