"""The clients of pools in a simulation: each asks once, and what it gets is judged. Without Kubernetes none asks."""

import attrs
import trio

from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.pool_calls import PoolCall, pool_call
from sie.testing.cluster.pool_rules import PoolRules
from sie.testing.cluster.served import ConnectionLost


@attrs.define(eq=False)
class PoolClients:
    """`endings` counts how calls ended, by verb."""

    cluster: Cluster
    waiting: int = 0
    begun: int = 0
    endings: dict[str, int] = attrs.field(factory=dict)

    def call_soon(self, call: PoolCall) -> None:
        for number in range(call.clients if self.cluster.pools is not None else 0):
            self.cluster.nursery.start_soon(self.call, attrs.evolve(call, gateway=call.gateway + number, clients=1))

    async def call(self, call: PoolCall) -> str:
        """How it ended."""
        assert self.cluster.pools is not None
        self.begun += 1
        self.waiting += 1
        ending = await self._call(self.cluster.pools, call, self.begun)
        self.waiting -= 1
        row = f"pool {call.verb} {ending}"
        self.endings[row] = self.endings.get(row, 0) + 1
        return ending

    async def _call(self, rules: PoolRules, call: PoolCall, number: int) -> str:
        gateway, name, ending = self.cluster.gateway(call.gateway), f"p{number}", "left"
        attempt = rules.begin(call, name, gateway.process.name, gateway.clock, number)
        try:
            with trio.move_on_after(float("inf") if call.leaves_after_s is None else call.leaves_after_s):
                ending = rules.on_answer(attempt, await gateway.server.request(pool_call(call, number)))
        except ConnectionLost:
            ending = "lost"
        if ending in ("left", "lost"):
            rules.on_end(attempt, left=ending == "left")
        self.cluster.log.add(gateway.process.name, f"pool {call.verb} {call.name} {name}", ending)
        return ending
