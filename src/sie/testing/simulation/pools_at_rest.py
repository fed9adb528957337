"""Do all gateways hold the pools that the API server holds once nothing is wrong, and do pools work (§16.3)?"""

from collections.abc import Iterator, Mapping

import trio

from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.kube_server import BEHIND_S, HALF_OPEN_S
from sie.testing.cluster.machine import START_UNIX_S
from sie.testing.cluster.nodes import GatewayNode
from sie.testing.cluster.pool_calls import PoolCall, ShownPool, cap_of
from sie.testing.cluster.pool_history import Kept
from sie.testing.cluster.pool_rules import ALLOWED_SKEW_S, PoolRules
from sie.testing.cluster.pool_witness import pools_at
from sie.testing.cluster.served import ConnectionLost
from sie.testing.simulation.pool_clients import PoolClients

AGREE_S = HALF_OPEN_S + BEHIND_S
LOOKS = 30
"""Until it must have come true."""
ENDED_S = 15.0
"""After a lease is over for every clock: who could not remove it before tries again after ten seconds."""
TOLD_S = 2.5
"""A change is known everywhere by then, and so is who works."""
TRIAL = "trial"
TRIAL_TTL_S = 4
ANSWER_LIMIT_S = 100.0


async def pools_agree(cluster: Cluster, clients: PoolClients) -> None:
    rules = cluster.pools
    if rules is None:
        return
    if not await cluster.wait_until(lambda: not clients.waiting, ANSWER_LIMIT_S):
        cluster.ledger.violate(f"{clients.waiting} calls for pools have no answer")
    await _settle(cluster, rules, "when all is well", AGREE_S)


async def pools_work(cluster: Cluster, clients: PoolClients) -> None:
    """One is made, known everywhere, renewed, and ends."""
    rules = cluster.pools
    if rules is None:
        return
    if not await cluster.wait_until(rules.server.is_fair, AGREE_S):
        cluster.ledger.violate("a gateway's requests to the API server have no answer")
    last = len(cluster.gateways) - 1
    for call in (PoolCall("put", 0, TRIAL, cap=1, ttl_s=TRIAL_TTL_S), PoolCall("renew", last, TRIAL)):
        if (ending := await clients.call(call)) != "done":
            cluster.ledger.violate(f"{call} is {ending} when all is well")
            return
        await _settle(cluster, rules, f"just after the {call.verb} of {TRIAL}", TOLD_S)
    await trio.sleep(TRIAL_TTL_S + ALLOWED_SKEW_S + TOLD_S)
    _is_over(cluster, rules)
    await _settle(cluster, rules, f"after the end of {TRIAL}", TOLD_S)


async def _settle(cluster: Cluster, rules: PoolRules, when: str, within_s: float) -> None:
    """Nothing differs by then. Looked at again and again, for what changes during a look seems to differ."""
    ends_s = trio.current_time() + within_s
    while (wrong := await _differences(cluster, rules)) and trio.current_time() < ends_s:  # noqa: ASYNC110 - the clock jumps
        await trio.sleep(within_s / LOOKS)
    for line in wrong:
        cluster.ledger.violate(f"{line}, {when}")


def _is_over(cluster: Cluster, rules: PoolRules) -> None:
    if TRIAL in rules.history.present():
        cluster.ledger.violate(f"the pool {TRIAL} is over, and stays")
    for name, _ in rules.history.leases():
        if name.endswith(TRIAL):
            cluster.ledger.violate(f"the lease {name} stays when its pool is gone")


async def _differences(cluster: Cluster, rules: PoolRules) -> list[str]:
    """A line for each."""
    now_s, present = START_UNIX_S + trio.current_time(), rules.history.present()
    late = [kept for kept in present.values() if kept.expires_s + ALLOWED_SKEW_S + ENDED_S < now_s]
    found = [f"the pool {kept.name} is over since {now_s - kept.expires_s:g} s, and stays" for kept in late]
    found += [
        f"the lease {name} belongs to nobody that ever was"
        for name, owner in rules.history.leases()
        if owner not in rules.history.uids
    ]
    shown = [await _shown(cluster, rules, gateway) for gateway in cluster.gateways]
    for gateway, pools in zip(cluster.gateways, shown, strict=True):
        found += _wrong_pools(cluster, gateway.process.name, pools, present)
        if pools != shown[0]:
            found.append(f"{gateway.process.name} gives pools other workers than {cluster.gateways[0].process.name}")
    return found


async def _shown(cluster: Cluster, rules: PoolRules, gateway: GatewayNode) -> Mapping[str, ShownPool]:
    """Without those that are each gateway's own."""
    try:
        pools = await pools_at(gateway)
    except ConnectionLost as error:
        cluster.ledger.violate(f"{gateway.process.name} does not answer: {error}")
        return {}
    for pool in pools.values():
        rules.check_shown(gateway.process.name, pool)
    return {name: pool for name, pool in pools.items() if name != "default"}


def _wrong_pools(
    cluster: Cluster, name: str, pools: Mapping[str, ShownPool], present: Mapping[str, Kept]
) -> Iterator[str]:
    if pools.keys() != present.keys():
        yield f"{name} knows the pools {sorted(pools)}, the API server {sorted(present)}"
    for pool in sorted(pools.keys() & present.keys()):
        shown, kept = pools[pool], present[pool]
        if (shown.spec, shown.created_s, shown.renewed_s) != (kept.spec, kept.created_s, kept.renewed_s):
            yield f"{name} knows the pool {pool} not as the API server has it"
        cap = cap_of(kept.spec)
        most = len(cluster.workers) if cap is None else min(cap, len(cluster.workers))
        if len(shown.workers) != most:
            yield f"{name} gives the pool {pool} {len(shown.workers)} workers, there are {most} for it"
