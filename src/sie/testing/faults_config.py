"""What goes wrong with the config service: its disk, its process within a write, a rival, its store, its folders."""

from functools import partial
from typing import Literal

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.config.core.head import EPOCH
from sie.testing.cluster import catalogue
from sie.testing.cluster.cluster import Cluster
from sie.testing.cluster.config_node import ConfigNode
from sie.testing.disk import How
from sie.testing.faults_kind import Fault


def _goes(node: ConfigNode, how: How, *, after: int, times: int = 1) -> None:
    """The call after `after` more of them goes so, and the next ones if it comes several times."""
    node.calls.clear()
    for _ in range(after):
        node.calls.append("well")
    for _ in range(times):
        node.calls.append(how)


def _commit_goes(node: ConfigNode, how: How, *, after: int) -> None:
    """The swap of the head after `after` more of them."""
    node.commits.clear()
    for _ in range(after):
        node.commits.append("well")
    node.commits.append(how)


@attrs.frozen
class ConfigDiesInCall:
    """The process ends in one of its next calls to the disk, before or after it is done."""

    process: int
    after: int
    how: Literal["dies before", "dies after"]

    async def begin(self, cluster: Cluster) -> None:
        _goes(cluster.config_process(self.process), self.how, after=self.after)


@attrs.frozen
class ConfigKilledSoon:
    """At whatever it waits for then; each call to the disk takes long meanwhile."""

    in_s: float

    async def begin(self, cluster: Cluster) -> None:
        cluster.config.slowness_s = 0.1
        cluster.nursery.start_soon(cluster.kill_config_in, self.in_s)


@attrs.frozen
class DiskSlow:
    by_s: float
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        cluster.config.slowness_s = self.by_s
        cluster.later(self.for_s, partial(_set_slowness, cluster.config, 0.0))


def _set_slowness(node: ConfigNode, by_s: float) -> None:
    node.slowness_s = by_s


@attrs.frozen
class DiskRefuses:
    process: int
    after: int
    times: int

    async def begin(self, cluster: Cluster) -> None:
        _goes(cluster.config_process(self.process), "refused", after=self.after, times=self.times)


@attrs.frozen
class DiskFull:
    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        cluster.rules.disk.full = True
        cluster.later(self.for_s, partial(setattr, cluster.rules.disk, "full", False))


@attrs.frozen
class DiskAnswerLost:
    """A commit is done, never done, or done but not yet safe from a power cut; its caller is not told which."""

    process: int
    after: int
    how: Literal["answer lost", "never", "unsynced"]

    async def begin(self, cluster: Cluster) -> None:
        _commit_goes(cluster.config_process(self.process), self.how, after=self.after)


@attrs.frozen
class DiskLate:
    """A commit whose caller has given up is done long after."""

    process: int
    after: int
    late_s: float

    async def begin(self, cluster: Cluster) -> None:
        _commit_goes(cluster.config_process(self.process), "late", after=self.after)
        cluster.later(self.late_s, cluster.land_late)


@attrs.frozen
class PowerCut:
    """Every config process ends, and what was not synced is undone."""

    down_s: float

    async def begin(self, cluster: Cluster) -> None:
        await cluster.rival.process.kill()
        await cluster.config.process.kill()
        cluster.rules.disk.lose_power()
        cluster.rules.history.look("nobody")
        cluster.later(self.down_s, partial(cluster.start, cluster.config))


@attrs.frozen
class EpochTorn:
    text: str

    async def begin(self, cluster: Cluster) -> None:
        cluster.rules.disk.put(EPOCH, self.text)


@attrs.frozen
class RivalWrites:
    """A second config process on the same store, for a while: only one of them may succeed at a time."""

    for_s: float

    async def begin(self, cluster: Cluster) -> None:
        cluster.rival.edition = cluster.config.edition
        cluster.start(cluster.rival)
        cluster.nursery.start_soon(cluster.kill_rival_in, self.for_s)


@attrs.frozen
class StoreLost:
    """The config service comes back with an empty store."""

    async def begin(self, cluster: Cluster) -> None:
        await cluster.turn_store_back(0)


@attrs.frozen
class StoreRolledBack:
    """It comes back with a copy of its store from some time ago."""

    copy: int

    async def begin(self, cluster: Cluster) -> None:
        await cluster.turn_store_back(self.copy)


async def _redeploy(cluster: Cluster, change: int, present: bool) -> None:
    now = catalogue.changes(cluster.config.edition)
    await cluster.redeploy(1 + (now | change if present else now & ~change))


@attrs.frozen
class CatalogueChanges:
    """A redeploy with another model, or without it; the epoch stays."""

    present: bool

    async def begin(self, cluster: Cluster) -> None:
        await _redeploy(cluster, catalogue.WITH_EXTRA, self.present)


@attrs.frozen
class BundlesChange:
    """A redeploy with another bundle; neither epoch nor models change."""

    present: bool

    async def begin(self, cluster: Cluster) -> None:
        await _redeploy(cluster, catalogue.WITH_SPARE, self.present)


@attrs.frozen
class PoolMoves:
    """A redeploy in which a model belongs to another pool."""

    present: bool

    async def begin(self, cluster: Cluster) -> None:
        await _redeploy(cluster, catalogue.MOVED, self.present)


_processes = st.sampled_from((0, 0, 0, 1))
_calls = st.integers(0, 12)
_few = st.integers(0, 2)
_whiles = st.sampled_from((0.5, 8.0, 45.0))
_mostly = st.sampled_from((True, True, False))
KINDS: tuple[SearchStrategy[Fault], ...] = (
    st.builds(ConfigDiesInCall, _processes, _calls, st.sampled_from(("dies before", "dies after"))),
    st.builds(ConfigKilledSoon, st.sampled_from((0.05, 0.15, 0.25, 0.45, 0.7, 1.0))),
    st.builds(DiskSlow, st.sampled_from((0.05, 0.5, 4.0)), st.sampled_from((10.0, 40.0))),
    st.builds(DiskRefuses, _processes, _calls, st.integers(1, 6)),
    st.builds(DiskFull, _whiles),
    st.builds(DiskAnswerLost, _processes, _few, st.sampled_from(("answer lost", "never", "unsynced"))),
    st.builds(DiskLate, _processes, _few, st.sampled_from((0.5, 8.0, 45.0))),
    st.builds(PowerCut, _whiles),
    st.builds(EpochTorn, st.sampled_from(("", "x1", "-1", "0", "1\x00"))),
    st.builds(RivalWrites, st.sampled_from((2.0, 20.0, 60.0))),
    st.builds(StoreLost),
    st.builds(StoreRolledBack, st.integers(0, 6)),
    st.builds(CatalogueChanges, _mostly),
    st.builds(BundlesChange, _mostly),
    st.builds(PoolMoves, _mostly),
)
FAULTS: tuple[type[Fault], ...] = (
    ConfigDiesInCall,
    ConfigKilledSoon,
    DiskSlow,
    DiskRefuses,
    DiskFull,
    DiskAnswerLost,
    DiskLate,
    PowerCut,
    EpochTorn,
    RivalWrites,
    StoreLost,
    StoreRolledBack,
    CatalogueChanges,
    BundlesChange,
    PoolMoves,
)
