"""Does a gateway go on telling of the pools that it knows while the API server is away for it (§16.3)?"""

import attrs
import trio

from sie.testing.cluster.kube_server import KubeLink
from sie.testing.cluster.nodes import GatewayNode
from sie.testing.cluster.pool_calls import PATH, ShownPool, read_pools
from sie.testing.cluster.pool_rules import KNOWN_S, PoolRules
from sie.testing.cluster.served import Call, ConnectionLost

SETTLED_S = 2.5
"""By then what had been answered before the server went away is told."""
BEFORE_S = 0.5
"""So long before it comes back it is looked at again."""


async def pools_at(gateway: GatewayNode) -> dict[str, ShownPool]:
    """By name. Raises ConnectionLost."""
    return read_pools((await gateway.server.request(Call("GET", PATH))).body)


def witness_soon(rules: PoolRules, nursery: trio.Nursery, gateway: GatewayNode, for_s: float) -> None:
    """From now on, when its server just went away for so long."""
    link = rules.server.link(gateway.process.name)
    nursery.start_soon(Witness(gateway, link, rules).watch, for_s)


@attrs.frozen
class Witness:
    gateway: GatewayNode
    link: KubeLink
    rules: PoolRules

    async def watch(self, for_s: float) -> None:
        """Says nothing where the server or the gateway came and went meanwhile."""
        life, since_s, began_s = self.gateway.process.life, self.link.away_since_s, trio.current_time()
        try:
            before = await pools_at(self.gateway)
            await trio.sleep(SETTLED_S)
            known = await pools_at(self.gateway)
            await trio.sleep(max(0.0, for_s - SETTLED_S - BEFORE_S))
            for name in sorted(known.keys() | {name for name in before if self._stays(name, began_s)}):
                answer = await self.gateway.server.request(Call("GET", f"{PATH}/{name}"))
                is_same = self.gateway.process.life is life and self.link.away_since_s == since_s
                if answer.status != 200 and is_same and since_s is not None:
                    self._tell(name, answer.status)
        except ConnectionLost:
            return

    def _stays(self, name: str, began_s: float) -> bool:
        """In the store, whether anybody could tell or not."""
        return all(state.kept is not None for state in self.rules.history.within(name, began_s - KNOWN_S))

    def _tell(self, name: str, status: int) -> None:
        who = self.gateway.process.name
        self.rules.violate(f"{who} knew the pool {name}, and answers {status} while the API server is away")
