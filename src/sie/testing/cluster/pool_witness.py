"""Does a gateway go on telling of the pools that it knows while the API server is away for it (§16.3)?"""

from collections.abc import Iterable

import attrs
import trio

from sie.testing.cluster.kube_server import KubeLink
from sie.testing.cluster.nodes import GatewayNode
from sie.testing.cluster.pool_calls import PATH, ShownPool, read_pools
from sie.testing.cluster.pool_rules import KNOWN_S, PoolRules
from sie.testing.cluster.process import Life
from sie.testing.cluster.served import Call, ConnectionLost

SETTLED_S = 2.5
"""By then what had been answered before the server went away is told."""
BEFORE_S = 0.5
"""So long before it comes back it is looked at again."""


async def pools_at(gateway: GatewayNode) -> dict[str, ShownPool]:
    """By name. Raises ConnectionLost."""
    return read_pools((await gateway.server.request(Call("GET", PATH))).body)


async def called(rules: PoolRules, gateway: GatewayNode) -> "Witness | None":
    """Just before the server goes away; it has seen what the gateway knows. None where nobody answers."""
    life = gateway.process.life
    try:
        known = frozenset(await pools_at(gateway))
    except ConnectionLost:
        return None
    return Witness(rules, gateway, rules.server.link(gateway.process.name), life, known, trio.current_time())


@attrs.frozen
class Witness:
    """`before` are the names of the pools that were known at `began_s`."""

    rules: PoolRules
    gateway: GatewayNode
    link: KubeLink
    life: Life | None
    before: frozenset[str]
    began_s: float

    async def watch(self, for_s: float) -> None:
        """So long the server is away. Says nothing where it or the gateway came and went meanwhile."""
        since_s = self.link.away_since_s
        await trio.sleep(SETTLED_S)
        try:
            known = await pools_at(self.gateway)
            await self._look(since_s, {*known, *filter(self._stays, self.before)})
            await trio.sleep(max(0.0, for_s - SETTLED_S - BEFORE_S))
            await self._look(since_s, {*known, *filter(self._stays, self.before)})
        except ConnectionLost:
            return

    async def _look(self, since_s: float | None, known: Iterable[str]) -> None:
        for name in sorted(known):
            answer = await self.gateway.server.request(Call("GET", f"{PATH}/{name}"))
            is_same = self.gateway.process.life is self.life and self.link.away_since_s == since_s
            if answer.status != 200 and is_same and since_s is not None:
                self._tell(name, answer.status)

    def _stays(self, name: str) -> bool:
        """In the store, whether anybody could tell or not."""
        return all(state.kept is not None for state in self.rules.history.within(name, self.began_s - KNOWN_S))

    def _tell(self, name: str, status: int) -> None:
        who = self.gateway.process.name
        self.rules.violate(f"{who} knew the pool {name}, and answers {status} while the API server is away")
