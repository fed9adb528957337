"""Pools and workers that meet often: few names of everything, in both cases."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.domain.ids import BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.pool import PoolSpec, pool_spec
from sie.domain.worker import WorkerStatus

QUEUE_POOLS = ("default", "static")
PROFILES = ("l4", "a100")
BUNDLES = ("small", "big")


@st.composite
def _specs(draw: st.DrawFn, name: str) -> PoolSpec:
    gpus = draw(st.dictionaries(st.sampled_from(PROFILES), st.integers(0, 3), max_size=2))
    more = draw(st.dictionaries(st.sampled_from(PROFILES), st.integers(0, 3), max_size=2))
    return pool_spec(
        name,
        gpus=gpus,
        gpu_caps={profile: gpus.get(profile, 0) + extra for profile, extra in more.items()},
        bundle=draw(st.none() | st.sampled_from(BUNDLES)),
        queue_pool=draw(st.sampled_from(QUEUE_POOLS)),
        minimum_worker_count=draw(st.integers(0, 3)),
        ttl_seconds=draw(st.none() | st.integers(1, 100)),
    )


def specs(names: str = "abcd") -> SearchStrategy[PoolSpec]:
    return st.sampled_from(names).flatmap(_specs)


def pools_of_specs() -> SearchStrategy[list[PoolSpec]]:
    return st.lists(specs("abcdefgh"), unique_by=lambda spec: spec.name, max_size=6)


def workers(*, count: int = 12) -> SearchStrategy[WorkerStatus]:
    lanes = st.builds(
        Lane,
        st.sampled_from(QUEUE_POOLS).map(PoolName),
        st.sampled_from(("l4", "L4", "a100", "h100")).map(MachineProfile),
        st.sampled_from(("small", "BIG", "big")).map(BundleName),
    )
    return st.builds(
        WorkerStatus,
        worker=st.integers(0, count - 1).map("w{}".format).map(WorkerId),
        lane=lanes,
        bundle_config_hash=st.none(),
        ready=st.sampled_from((True, True, True, False)),
        draining=st.sampled_from((False, False, False, True)),
        url=st.sampled_from((None, "http://one", "http://two")),
    )


def fleets(*, size: int = 12) -> SearchStrategy[list[WorkerStatus]]:
    return st.lists(workers(count=size), unique_by=lambda status: status.worker, max_size=size)


def worker_on(lane: Lane) -> WorkerStatus:
    """A healthy one."""
    return WorkerStatus(WorkerId("w"), lane, None, ready=True)
