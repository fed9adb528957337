"""Does a cluster come to rest once nothing is wrong any more? Everything is healed, waited for, and looked at.

Processes that run must recover by themselves; only what crashed is started, and only at last does an operator help.
"""

from collections.abc import Sequence

import trio

from sie.testing.cluster.catalogue import EDITIONS, SERVED
from sie.testing.cluster.client import Ask
from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.nodes import GatewayNode
from sie.testing.simulation.clients import Clients
from sie.testing.simulation.excuses import RECONNECT_S

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


async def come_to_rest(cluster: Cluster, clients: Clients) -> None:
    """Stops at the first rule that is broken: what follows would only wait for it."""
    for check in (_answered, _recovered, _settled, _asked, _helped, _settled, _quiet, _all_equal):
        if cluster.ledger.violations:
            return
        await check(cluster, clients)


async def _answered(cluster: Cluster, clients: Clients) -> None:
    cluster.heal()
    if not await cluster.wait_until(lambda: not clients.waiting, ANSWER_LIMIT_S):
        cluster.ledger.violate(f"{clients.waiting} requests have no answer")


async def _recovered(cluster: Cluster, _: Clients) -> None:
    """Nobody who runs is touched."""
    cluster.start_crashed()
    await trio.sleep(RECONNECT_S)
    if not await cluster.wait_until(cluster.is_ready, RECOVER_LIMIT_S):
        cluster.ledger.violate("the cluster does not recover by itself")


async def _asked(cluster: Cluster, clients: Clients) -> None:
    """Of those that no operator has to help."""
    if all(map(cluster.is_current, cluster.workers)):
        await _ask_all(cluster, clients, [gateway for gateway in cluster.gateways if cluster.is_current(gateway)])


async def _helped(cluster: Cluster, clients: Clients) -> None:
    if all(map(cluster.is_current, cluster.connected_nodes)):
        return
    await cluster.restart_stale()
    if not await cluster.wait_until(cluster.is_ready, RECOVER_LIMIT_S):
        cluster.ledger.violate("the cluster does not come up again")
    else:
        await _ask_all(cluster, clients, cluster.gateways)


async def _settled(cluster: Cluster, _: Clients) -> None:
    if not await cluster.wait_until(lambda: not any(cluster.unrest()), SETTLE_LIMIT_S):
        cluster.ledger.violate(f"left behind: {'; '.join(cluster.unrest())}")


async def _quiet(cluster: Cluster, _: Clients) -> None:
    if not await cluster.wait_until(lambda: not any(cluster.network.leftovers()), QUIET_LIMIT_S):
        cluster.ledger.violate(f"left behind: {'; '.join(cluster.network.leftovers())}")


async def _all_equal(cluster: Cluster, _: Clients) -> None:
    wanted = sorted({*EDITIONS[cluster.config.served_edition]})
    for gateway in cluster.gateways:
        name = gateway.process.name
        models = sorted({serving_id.partition(":")[0] for serving_id in await cluster.models(gateway)})
        if models != wanted:
            cluster.ledger.violate(f"{name} knows {models}, the authority {wanted}")
        in_flight = (await cluster.health(gateway))["in flight"]
        if in_flight:
            cluster.ledger.violate(f"{name} holds {in_flight} requests when nobody asks")


async def _ask_all(cluster: Cluster, clients: Clients, gateways: Sequence[GatewayNode]) -> None:
    for gateway in gateways:
        for model in SERVED:
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
