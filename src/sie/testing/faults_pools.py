"""What goes wrong with pools: watches end, the API server is away, slow, silent or busy, others write there.

None of it does anything in a cluster without Kubernetes.
"""

from functools import partial
from typing import Literal, TypeAlias, get_args

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.domain.ids import PoolName
from sie.kube.core.names import MANAGED_BY, POOL_KEY, config_map_name
from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.kube_server import BEHIND_S, HALF_OPEN_S, NAMESPACE
from sie.testing.cluster.pool_calls import POOL_NAMES
from sie.testing.cluster.pool_witness import called
from sie.testing.faults_kind import Fault
from sie.testing.kube.faults import Delay, Hang, LoseAnswer, Refuse
from sie.testing.kube.faults import Fault as KubeFault
from sie.testing.kube.refusing import Refused
from sie.testing.kube.resources import CONFIG_MAPS, Document
from sie.testing.kube.shaping import metadata_of

WatchEnd: TypeAlias = Literal["cut", "gone", "silent"]
Edit: TypeAlias = Literal["no JSON", "no spec", "another name", "no label", "removed"]


@attrs.frozen
class WatchesEnd:
    """Those of all gateways: in the middle of a line, as too old, or without a word."""

    how: WatchEnd

    async def begin(self, cluster: Cluster) -> None:
        if cluster.pools is None:
            return
        server = cluster.pools.server
        server.doubt(HALF_OPEN_S if self.how == "silent" else BEHIND_S)
        match self.how:
            case "cut":
                server.double.cut_watches()
            case "gone":
                server.model.compact()
                server.double.expire_watches()
            case "silent":
                server.double.mute_watches()


def _plan(cluster: Cluster, fault: KubeFault, times: int) -> None:
    """For the next requests, whoever sends them."""
    if cluster.pools is not None:
        cluster.pools.server.double.faults.add(fault, times=times)


@attrs.frozen
class ApiRefuses:
    code: int
    times: int
    retry_after: str | None

    async def begin(self, cluster: Cluster) -> None:
        _plan(cluster, Refuse(self.code, self.retry_after), self.times)


@attrs.frozen
class ApiSlow:
    """The answers are right, and late."""

    by_s: float
    times: int

    async def begin(self, cluster: Cluster) -> None:
        _plan(cluster, Delay(self.by_s), self.times)


@attrs.frozen
class ApiSilent:
    times: int

    async def begin(self, cluster: Cluster) -> None:
        _plan(cluster, Hang(), self.times)


@attrs.frozen
class ApiAnswerLost:
    """What was asked for is done."""

    times: int

    async def begin(self, cluster: Cluster) -> None:
        _plan(cluster, LoseAnswer(), self.times)


@attrs.frozen
class ApiRestarts:
    """It refuses everybody for a while, and has forgotten all older versions after it."""

    down_s: float

    async def begin(self, cluster: Cluster) -> None:
        if (rules := cluster.pools) is None or not rules.server.is_up:
            return
        witnesses = [await called(rules, gateway) for gateway in cluster.gateways]
        rules.server.stop()
        cluster.later(self.down_s, rules.server.start)
        for witness in witnesses:
            if witness is not None:
                cluster.nursery.start_soon(witness.watch, self.down_s)


@attrs.frozen
class ApiCutOff:
    """Nothing passes between one gateway and the API server, and neither is told."""

    gateway: int
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        if (rules := cluster.pools) is None:
            return
        gateway = cluster.gateway(self.gateway)
        link, witness = rules.server.link(gateway.process.name), await called(rules, gateway)
        link.block(blocked=True)
        cluster.later(self.for_s, partial(link.block, blocked=False))
        if witness is not None:
            cluster.nursery.start_soon(witness.watch, self.for_s)


@attrs.frozen
class RivalIsQuicker:
    """Somebody else changes a pool's object just before each of the next changes of a gateway."""

    times: int

    async def begin(self, cluster: Cluster) -> None:
        if cluster.pools is not None:
            cluster.pools.server.rivals += self.times


@attrs.frozen
class EditedByHand:
    """A pool's object, into what is none, or away."""

    name: str
    how: Edit

    async def begin(self, cluster: Cluster) -> None:
        if cluster.pools is None:
            return
        name = config_map_name(PoolName(self.name))
        with cluster.pools.server.by_hand() as model:
            try:
                if self.how == "removed":
                    model.delete(CONFIG_MAPS, NAMESPACE, name)
                else:
                    model.patch(CONFIG_MAPS, NAMESPACE, name, partial(_edited, self.how))
            except Refused:
                return  # there is none


def _edited(how: Edit, held: Document) -> Document:
    match how:
        case "no label":
            return {**held, "metadata": {**metadata_of(held), "labels": {MANAGED_BY: "hand"}}}
        case "no spec":
            text = '{"status": {"created_at": 1.0, "last_renewed": 1.0}}'
        case "another name":
            text = '{"spec": {"name": "another"}, "status": {"created_at": 1.0, "last_renewed": 1.0}}'
        case _:
            text = "{"
    return {**held, "data": {POOL_KEY: text}}


@attrs.frozen
class ClockSkewed:
    """A gateway's wall clock is a few seconds beside the others'."""

    gateway: int
    by_s: float
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        clock = cluster.gateway(self.gateway).clock
        clock.jump_to(self.by_s)
        cluster.later(self.for_s, partial(clock.jump_to, 0.0))


_gateways = st.integers(0, 4)
_few = st.sampled_from((1, 1, 2, 4))
_whiles = st.sampled_from((4.0, 12.0, 45.0))
KINDS: tuple[SearchStrategy[Fault], ...] = (
    st.builds(WatchesEnd, st.sampled_from(get_args(WatchEnd))),
    st.builds(ApiRefuses, st.sampled_from((410, 429, 500, 503)), _few, st.sampled_from((None, None, "3"))),
    st.builds(ApiSlow, st.sampled_from((0.3, 2.0, 8.0, 30.0)), _few),
    st.builds(ApiSilent, _few),
    st.builds(ApiAnswerLost, _few),
    st.builds(ApiRestarts, _whiles),
    st.builds(ApiCutOff, _gateways, _whiles),
    st.builds(RivalIsQuicker, st.sampled_from((1, 3, 12))),
    st.builds(EditedByHand, st.sampled_from(POOL_NAMES), st.sampled_from(get_args(Edit))),
    st.builds(ClockSkewed, _gateways, st.sampled_from((-2.0, 2.0, 4.0)), st.sampled_from((10.0, 40.0))),
)
FAULTS: tuple[type[Fault], ...] = (
    WatchesEnd,
    ApiRefuses,
    ApiSlow,
    ApiSilent,
    ApiAnswerLost,
    ApiRestarts,
    ApiCutOff,
    RivalIsQuicker,
    EditedByHand,
    ClockSkewed,
)


def pool_faults() -> SearchStrategy[Fault]:
    """Each kind as often as any other."""
    return st.sampled_from(range(len(KINDS))).flatmap(KINDS.__getitem__)
