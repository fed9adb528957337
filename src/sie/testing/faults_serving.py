"""What goes wrong with serving: the broker, connections, processes, children, and the way to the config service."""

from functools import partial
from typing import Literal, TypeAlias, get_args

import attrs
import trio
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.device import LoadFailure
from sie.testing.cluster.nodes import Node
from sie.testing.faults_kind import Fault

WorkerMessages: TypeAlias = Literal["_INBOX.gw-", "sie.health.", "$JS.ACK.", "$JS.API."]
GatewayMessages: TypeAlias = Literal["sie.work.", "_INBOX.gw-", "$JS.API."]


@attrs.frozen
class BrokerRestarts:
    """Streams in memory are gone then; those in files stay."""

    async def begin(self, cluster: Cluster) -> None:
        cluster.network.restart()


@attrs.frozen
class BrokerDown:
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        cluster.network.stop()
        cluster.later(self.for_s, cluster.network.start)


@attrs.frozen
class ConnectionCut:
    """The broker drops one process's connection; it dials again."""

    process: int

    async def begin(self, cluster: Cluster) -> None:
        cluster.weather.note("ConnectionCut")
        cluster.network.cut(cluster.connected(self.process).process.name)


@attrs.frozen
class Partition:
    """Nothing passes between a process and the broker, in either direction, and neither is told."""

    process: int
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        name = cluster.connected(self.process).process.name
        cluster.network.block(name)
        cluster.later(self.for_s, partial(cluster.network.unblock, name))


@attrs.frozen
class Latency:
    process: int
    by_s: float
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        name = cluster.connected(self.process).process.name
        cluster.network.delay(name, self.by_s)
        cluster.later(self.for_s, partial(cluster.network.delay, name, 0.0))


@attrs.frozen
class WorkerMessagesLost:
    """The next `count` that a worker sends of a kind are dropped; a lost ack becomes a second delivery."""

    worker: int
    which: WorkerMessages
    count: int

    async def begin(self, cluster: Cluster) -> None:
        if (life := cluster.worker(self.worker).process.life) is not None:
            life.tap.lose(self.which, self.count)


@attrs.frozen
class GatewayMessagesLost:
    """The next `count` that a gateway sends of work, or is sent of acks and results, are dropped."""

    gateway: int
    which: GatewayMessages
    count: int

    async def begin(self, cluster: Cluster) -> None:
        if (life := cluster.gateway(self.gateway).process.life) is not None:
            life.tap.lose(self.which, self.count)


@attrs.frozen
class ProcessKilled:
    """A gateway, worker or the config service ends without a word, and comes back `down_s` later."""

    process: int
    down_s: float

    async def begin(self, cluster: Cluster) -> None:
        node = cluster.node(self.process)
        await node.process.kill()
        cluster.later(self.down_s, partial(cluster.start, node))


@attrs.frozen
class ProcessStopped:
    """The same in order: it is asked to stop, drains, and is started again."""

    process: int
    down_s: float

    async def begin(self, cluster: Cluster) -> None:
        node = cluster.node(self.process)
        cluster.nursery.start_soon(self._restart, cluster, node)

    async def _restart(self, cluster: Cluster, node: Node) -> None:
        await cluster.stop(node)
        await trio.sleep(self.down_s)
        cluster.start(node)


@attrs.frozen
class ChildDies:
    worker: int

    async def begin(self, cluster: Cluster) -> None:
        cluster.worker(self.worker).device.die()


@attrs.frozen
class ChildRefuses:
    """The next `times` backend processes do not come up, and the present one ends."""

    worker: int
    times: int

    async def begin(self, cluster: Cluster) -> None:
        device = cluster.worker(self.worker).device
        device.refused_launches += self.times
        device.die()


@attrs.frozen
class ChildSlow:
    worker: int
    by_s: float
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        device = cluster.worker(self.worker).device
        device.slow_down(self.by_s)
        cluster.later(self.for_s, partial(device.slow_down, 0.0))


@attrs.frozen
class LoadFails:
    """The worker's child ends, and the next one's first load fails."""

    worker: int
    how: LoadFailure

    async def begin(self, cluster: Cluster) -> None:
        device = cluster.worker(self.worker).device
        device.load_failures.append(self.how)
        device.die()


@attrs.frozen
class AuthorityFails:
    """For one process; a restarted one reads the export."""

    process: int
    times: int

    async def begin(self, cluster: Cluster) -> None:
        cluster.connected(self.process).link.errors += self.times


@attrs.frozen
class AuthoritySlow:
    process: int
    by_s: float
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        link = cluster.connected(self.process).link
        link.slow_down(self.by_s)
        cluster.later(self.for_s, partial(link.slow_down, 0.0))


@attrs.frozen
class ClockJumps:
    """The wall clock alone, there and later back; monotonic time never jumps back."""

    process: int
    by_s: float
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        clock = cluster.connected(self.process).clock
        clock.jump_to(self.by_s)
        cluster.later(self.for_s, partial(clock.jump_to, 0.0))


_numbers = st.integers(0, 5)
_whiles = st.sampled_from((0.5, 8.0, 45.0))
_long_whiles = st.sampled_from((10.0, 40.0))
_counts = st.sampled_from((1, 4, 12))
_few = st.integers(1, 6)
KINDS: tuple[SearchStrategy[Fault], ...] = (
    st.builds(BrokerRestarts),
    st.builds(BrokerDown, _whiles),
    st.builds(ConnectionCut, _numbers),
    st.builds(Partition, _numbers, _whiles),
    st.builds(Latency, _numbers, st.sampled_from((0.02, 0.5, 4.0)), _long_whiles),
    st.builds(WorkerMessagesLost, _numbers, st.sampled_from(get_args(WorkerMessages)), _counts),
    st.builds(GatewayMessagesLost, _numbers, st.sampled_from(get_args(GatewayMessages)), _counts),
    st.builds(ProcessKilled, _numbers, _whiles),
    st.builds(ProcessStopped, _numbers, _whiles),
    st.builds(ChildDies, _numbers),
    st.builds(ChildRefuses, _numbers, st.integers(1, 3)),
    st.builds(ChildSlow, _numbers, st.sampled_from((0.2, 5.0, 35.0)), _long_whiles),
    st.builds(LoadFails, _numbers, st.sampled_from(("temporary", "permanent"))),
    st.builds(AuthorityFails, _numbers, _few),
    st.builds(AuthoritySlow, _numbers, st.sampled_from((0.5, 6.0, 12.0)), _long_whiles),
    st.builds(ClockJumps, _numbers, st.sampled_from((-3600.0, -20.0, 20.0, 3600.0)), _long_whiles),
)


FAULTS: tuple[type[Fault], ...] = (
    BrokerRestarts,
    BrokerDown,
    ConnectionCut,
    Partition,
    Latency,
    WorkerMessagesLost,
    GatewayMessagesLost,
    ProcessKilled,
    ProcessStopped,
    ChildDies,
    ChildRefuses,
    ChildSlow,
    LoadFails,
    AuthorityFails,
    AuthoritySlow,
    ClockJumps,
)
