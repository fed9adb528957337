"""What must hold inside the gateways at any time: budgets, pending demand, and nothing that is forsaken."""

import trio

from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.direct_rules import SOON_S
from sie.testing.cluster.holdings import over_budget
from sie.testing.cluster.nodes import GatewayNode

BROKER = ("BrokerRestarts", "BrokerDown", "ConnectionCut", "Partition", "Latency", "MessagesLost")
CALM_S = SOON_S + 3.0
"""Without trouble of the broker for so long, each answer has come, and a worker that was cut off is back."""


def look_inside(cluster: Cluster) -> None:
    now_s = trio.current_time()
    is_calm = all(over_s > CALM_S for kind, over_s in cluster.weather.ages_s() if kind in BROKER)
    for gateway in cluster.gateways:
        facts, violate = gateway.facts, cluster.ledger.violate
        if not gateway.process.runs or facts.dispatcher is None:
            continue
        for line in over_budget(facts.dispatcher):
            violate(f"{gateway.process.name} {line}")
        facts.demand.look(facts.dispatcher.handoff.demand, now_s)
        if is_calm:
            _look_for_forsaken(cluster, gateway, now_s)


def _look_for_forsaken(cluster: Cluster, gateway: GatewayNode, now_s: float) -> None:
    """What was on its way to a worker that went away counts as taken."""
    left_s = max(worker.left_s for worker in cluster.workers)
    for sent in gateway.facts.direct.forsaken(now_s):
        if left_s < sent.sent_s:
            cluster.ledger.violate(f"{gateway.process.name} sent {sent.item_id} to one worker, and it stays there")
