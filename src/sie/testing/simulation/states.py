"""Which states has a cluster been in, and from which to which has it gone? As its first processes show them."""

import attrs

from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.nodes import GatewayNode, WorkerNode


@attrs.define
class Coverage:
    """Counts of looks by state, and of changes by both states."""

    states: dict[str, int] = attrs.field(factory=dict)
    transitions: dict[str, int] = attrs.field(factory=dict)
    _last: str = ""

    def look(self, cluster: Cluster) -> None:
        state = state_of(cluster)
        self.states[state] = self.states.get(state, 0) + 1
        if self._last and self._last != state:
            change = f"{self._last} -> {state}"
            self.transitions[change] = self.transitions.get(change, 0) + 1
        self._last = state


def state_of(cluster: Cluster) -> str:
    gateway, worker = cluster.gateways[0], cluster.workers[0]
    child = "up" if worker.device.is_up else "down"
    broker = "up" if cluster.network.broker.is_up else "down"
    config = "down" if cluster.config.process.life is None else "up"
    config += ", a rival" if cluster.rival.process.life is not None else ""
    behind = f"gateway {_gateway(cluster, gateway)}, worker {_worker(cluster, worker)}"
    return f"{behind}, child {child}, broker {broker}, config {config}"


def _gateway(cluster: Cluster, gateway: GatewayNode) -> str:
    if gateway.process.life is None:
        return "down"
    doubt = " forged" if gateway.facts.has_forged else ""
    return f"{_link(cluster, gateway)} {_catalogue(cluster, gateway)}{doubt}"


def _worker(cluster: Cluster, worker: WorkerNode) -> str:
    if worker.process.life is None:
        return "down"
    word = "draining" if worker.process.life.stop.is_set() else "ready" if not worker.away.is_on else "starting"
    load = " failed" if worker.facts.has_failed else ""
    return f"{_link(cluster, worker)} {_catalogue(cluster, worker)} {word}{load}"


def _link(cluster: Cluster, node: GatewayNode | WorkerNode) -> str:
    return "connected" if cluster.network.knows(node.process.name) else "cut off"


def _catalogue(cluster: Cluster, node: GatewayNode | WorkerNode) -> str:
    if not node.link.has_read:
        return "empty"
    return "current" if node.link.lane_hash == cluster.wanted_lane else "old"
