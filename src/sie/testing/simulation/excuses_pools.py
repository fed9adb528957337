"""What may a client be told who names a pool (§16.3)? The pool may be unknown, have no worker, or a late one.

Where it can be told from outside that a gateway knows the pool as the API server has it, nothing of that is excused.
"""

from collections.abc import Iterator, Mapping

from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.facts import GatewayFacts
from sie.testing.cluster.machine import START_UNIX_S
from sie.testing.cluster.pool_calls import cap_of
from sie.testing.cluster.pool_history import State
from sie.testing.cluster.pool_rules import ALLOWED_SKEW_S, KNOWN_S
from sie.testing.cluster.weather import CHILD_DIED, GATEWAY_STARTED, LANE_CHANGED, POOLS_UNREAD, WORKER_AWAY

HEARD_S = 40.0
"""A worker that is silent is left out after 30 s, and one that is heard again is given pools at once."""
READ_S = 20.0
"""Until a worker has read of a pool, and what was given back meanwhile has come again."""
BROKER = ("BrokerRestarts", "BrokerDown", "ConnectionCut", "Partition", "Latency", "MessagesLost")
TROUBLE: Mapping[str, float] = {
    **dict.fromkeys(BROKER, HEARD_S),
    WORKER_AWAY: HEARD_S,
    CHILD_DIED: HEARD_S,
    LANE_CHANGED: HEARD_S,
    POOLS_UNREAD: HEARD_S,
    GATEWAY_STARTED: HEARD_S,
    "ClockJumps": HEARD_S,
}
"""Whatever makes gateways differ in whom they give a pool, or a worker in what it knows of it."""


def may_refuse_in_pool(
    cluster: Cluster, gateway: GatewayFacts, pool: str, code: str, asked_s: float, now_s: float
) -> bool:
    rules = cluster.pools
    if rules is None:
        return code == "POOL_NOT_FOUND"
    states = rules.history.within(pool, asked_s - KNOWN_S)
    link = rules.server.link(gateway.name)
    is_known = all(_is_there(state, now_s) for state in states) and link.is_fair(asked_s - KNOWN_S)
    if code == "POOL_NOT_FOUND":
        return not is_known
    if code.startswith("PROVISIONING"):
        return not is_known or any(map(_is_empty, states)) or _is_troubled(cluster, now_s - asked_s)
    if code == "GATEWAY_TIMEOUT":
        lately = rules.history.within(pool, asked_s - READ_S)
        is_steady = len(lately) == 1 and all(_is_there(state, now_s) for state in lately)
        is_fair = all(each.is_fair(asked_s - READ_S) for each in rules.server.links.values())
        return not (is_steady and is_fair) or _is_troubled(cluster, now_s - asked_s)
    return False


def _is_there(state: State, now_s: float) -> bool:
    """And no clock says that it is over."""
    return state.kept is not None and START_UNIX_S + now_s + ALLOWED_SKEW_S < state.kept.expires_s


def _is_empty(state: State) -> bool:
    return state.kept is not None and cap_of(state.kept.spec) == 0


def _is_troubled(cluster: Cluster, age_s: float) -> bool:
    return any(over_s <= age_s + TROUBLE.get(kind, -1e9) for kind, over_s in _ages(cluster))


def _ages(cluster: Cluster) -> Iterator[tuple[str, float]]:
    return cluster.weather.ages_s()
