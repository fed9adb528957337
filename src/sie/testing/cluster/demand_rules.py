"""Does a gateway say for which lanes it waits (§16.3)? Judged by what its clients were told, and what it queued.

Who is told that a lane has no worker makes it a wanted one, until work for exactly that lane is queued, or two minutes
are over. Of one life of a gateway; times are Trio's.
"""

import re
from collections.abc import Callable, Mapping

import attrs

from sie.domain.ids import BundleName, MachineProfile, PoolName
from sie.domain.lane import Lane
from sie.gateway.core.demand import DEMAND_S, Demand
from sie.gateway.dispatch.acks import ACK_DEADLINE_S

LANES = ("default/default/default", "side/default/default")
"""What the cluster is deployed with: a pool that no worker serves is among them, and another one is not."""
DEPLOYED = tuple(
    Lane(PoolName(pool), MachineProfile(profile), BundleName(bundle))
    for pool, profile, bundle in (text.split("/") for text in LANES)
)
SERVED_LANE = DEPLOYED[0]
UNDER_WAY_S = ACK_DEADLINE_S + 1.0
CLOSE_S = 0.001
LEFT_S = 3.0
"""What a client that went away has begun is over by then."""
UNREAD = "has not read its models"
_NAMED = re.compile(r"(\S+)/(\S+)/(\S+) yet\b")


@attrs.define(eq=False)
class DemandRules:
    """`told_s` is when a client was last told of no worker, `sent_s` when work was last queued, by lane.

    `stirred_s`: when anybody last asked, or had asked; `doubt_s`: when one ended who may have left a wanted lane.
    """

    violate: Callable[[str], None]
    waiting: int = 0
    stirred_s: float = float("-inf")
    doubt_s: float = float("-inf")
    met_s: float = float("-inf")
    told_s: dict[Lane, float] = attrs.field(factory=dict)
    sent_s: dict[Lane, float] = attrs.field(factory=dict)

    def begin(self, now_s: float) -> None:
        self.waiting += 1
        self.stirred_s = now_s

    def end(self, ending: str, *, is_plain: bool, asked_s: float, now_s: float) -> None:
        """`is_plain`: of the lane that workers serve, through its queue."""
        self.waiting -= 1
        self.stirred_s = now_s
        if ending == "answered" and is_plain:
            self.met_s = max(self.met_s, asked_s)
        elif ending != "answered" or not is_plain:
            self.doubt_s = now_s + (LEFT_S if ending == "left" else 0.0)

    def on_provisioning(self, message: str, now_s: float) -> None:
        """What the words name is wanted from now on; `*` is any machine profile."""
        named = _NAMED.search(message)
        if named is None and UNREAD in message:
            return  # a gateway that knows no model yet knows of none which lane it is in
        if named is None:
            self.violate(f"a client is told of no worker, and of no lane: {message!r}")
            return
        for lane in DEPLOYED:
            if self.sent_s.get(lane, float("-inf")) > now_s - UNDER_WAY_S:
                continue  # its acks may come after this, and meet what is wanted
            if named[1] == lane.pool and named[2] in ("*", lane.machine_profile) and named[3] == lane.bundle:
                self.told_s[lane] = now_s

    def on_work(self, lane: Lane, now_s: float) -> None:
        self.sent_s[lane] = now_s

    def look(self, demand: Demand, now_s: float) -> None:
        pending = demand.pending(now_s)
        if pending.keys() != set(DEPLOYED):
            self.violate(f"pending demand names {sorted(map(str, pending))}, deployed are {LANES}")
            return
        for lane, told_s in self.told_s.items():
            if self.sent_s.get(lane, float("-inf")) < told_s and now_s < told_s + DEMAND_S - CLOSE_S:
                self._must(pending, lane, f"{now_s - told_s:g} s after a client was told that it has no worker")
        self._look_for_old(pending, now_s)

    def _must(self, pending: Mapping[Lane, bool], lane: Lane, when: str) -> None:
        if not pending[lane]:
            self.violate(f"nothing says that {lane} is wanted, {when}")

    def _look_for_old(self, pending: Mapping[Lane, bool], now_s: float) -> None:
        is_over = not self.waiting and now_s > self.stirred_s + DEMAND_S + LEFT_S
        for lane in (lane for lane, wanted in pending.items() if wanted):
            if is_over:
                self.violate(f"{lane} is said to be wanted {now_s - self.stirred_s:g} s after the last client")
            elif lane == SERVED_LANE and not self.waiting and self.met_s > self.doubt_s:
                self.violate(f"{lane} is said to be wanted, and all that was asked of it is answered")
