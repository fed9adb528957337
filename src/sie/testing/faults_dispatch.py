"""What goes wrong with dispatch: the payload store fails or loses inputs, a worker cannot read the pools, word that
work is withdrawn is lost, and a worker's own queue is gone.
"""

from functools import partial

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.domain.ids import WorkerId
from sie.domain.subjects import worker_stream
from sie.testing.cluster.cluster import Cluster
from sie.testing.faults_kind import Fault


@attrs.frozen
class PayloadsFail:
    """For every process."""

    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        cluster.payloads.fail()
        cluster.later(self.for_s, cluster.payloads.heal)


@attrs.frozen
class PayloadsGone:
    """All that is there now."""

    async def begin(self, cluster: Cluster) -> None:
        cluster.payloads.lose_all()


@attrs.frozen
class PoolsUnread:
    worker: int
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        link = cluster.worker(self.worker).pools
        link.cut(away=True)
        cluster.later(self.for_s, partial(link.cut, away=False))


@attrs.frozen
class WithdrawalsLost:
    """The next `count` of a gateway: a worker may run what its pool's queue has by now."""

    gateway: int
    count: int

    async def begin(self, cluster: Cluster) -> None:
        if (life := cluster.gateway(self.gateway).process.life) is not None:
            life.tap.lose("batch_cancel.", self.count)


@attrs.frozen
class OwnQueueGone:
    """A hand removes a worker's own stream, and what is in it."""

    worker: int

    async def begin(self, cluster: Cluster) -> None:
        jetstream = cluster.network.broker.jetstream
        name = worker_stream(WorkerId(cluster.worker(self.worker).process.name))
        if cluster.network.broker.is_up and name in jetstream.streams:
            cluster.weather.note("OwnQueueGone")
            jetstream.delete_stream(name)


@attrs.frozen
class WorkersCutOff:
    """Nothing passes between any worker and the broker, and nobody is told."""

    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        for name in (worker.process.name for worker in cluster.workers):
            cluster.network.block(name)
            cluster.later(self.for_s, partial(cluster.network.unblock, name))


@attrs.frozen
class WorkerReplaced:
    """It ends without a word, with its own queue or not, and comes back soon: gateways take it for alive."""

    worker: int
    down_s: float
    with_queue: bool = False

    async def begin(self, cluster: Cluster) -> None:
        worker = cluster.worker(self.worker)
        await worker.process.kill()
        cluster.later(self.down_s, partial(cluster.start, worker))
        if self.with_queue:
            await OwnQueueGone(self.worker).begin(cluster)


_numbers = st.integers(0, 5)
_whiles = st.sampled_from((0.5, 8.0, 45.0))
PAYLOAD_KINDS: tuple[SearchStrategy[Fault], ...] = (
    st.builds(PayloadsFail, _whiles),
    st.builds(PayloadsGone),
    st.builds(WorkersCutOff, st.sampled_from((0.5, 8.0))),
)
POOL_KINDS: tuple[SearchStrategy[Fault], ...] = (
    st.builds(PoolsUnread, _numbers, _whiles),
    st.builds(WithdrawalsLost, _numbers, st.integers(1, 4)),
    st.builds(OwnQueueGone, _numbers),
    st.builds(WorkerReplaced, _numbers, st.sampled_from((0.5, 8.0)), st.booleans()),
)
FAULTS: tuple[type[Fault], ...] = (
    PayloadsFail,
    PayloadsGone,
    PoolsUnread,
    WithdrawalsLost,
    OwnQueueGone,
    WorkersCutOff,
    WorkerReplaced,
)


def payload_faults() -> SearchStrategy[Fault]:
    return st.sampled_from(range(len(PAYLOAD_KINDS))).flatmap(PAYLOAD_KINDS.__getitem__)


def direct_faults() -> SearchStrategy[Fault]:
    """Where there are pools that hold some of the workers."""
    return st.sampled_from(range(len(POOL_KINDS))).flatmap(POOL_KINDS.__getitem__)
