"""A request goes to the lane of its model's best bundle, and only while a worker there holds our configuration."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.bundle import Bundle
from sie.domain.ids import DEFAULT_PROFILE, BundleName, MachineProfile, ModelId, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.model import Model, Profile
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import WorkerStatus
from sie.gateway.core.routing import Provisioning, Routed, UnknownModel, resolve

POOLS = st.sampled_from([PoolName("default"), PoolName("team-a")])
PRIORITIES = st.lists(st.integers(0, 3), min_size=1, max_size=4)


def snapshot_of(priorities: list[int], pool: PoolName) -> RegistrySnapshot:
    bundles = [Bundle(BundleName(f"b{i}"), ("acme.m",), priority) for i, priority in enumerate(priorities)]
    model = Model(ModelId("acme/m"), {DEFAULT_PROFILE: Profile("acme.m:C")}, pool=pool)
    return RegistrySnapshot.of(bundles, [model])


def worker_at(lane: Lane, config_hash: str | None) -> WorkerStatus:
    return WorkerStatus(WorkerId("w"), lane, config_hash, ready=True)


@given(PRIORITIES, POOLS, st.sampled_from(["acme/m", "ACME/M", "acme/m:default"]))
def test_the_lane_is_that_of_the_best_bundle_in_the_models_pool(
    priorities: list[int], pool: PoolName, asked: str
) -> None:
    snapshot = snapshot_of(priorities, pool)
    best = BundleName(f"b{priorities.index(min(priorities))}")
    lane = Lane(pool, MachineProfile("default"), best)
    ours = snapshot.scoped_hash(best, pool)
    resolution = resolve(snapshot, [worker_at(lane, ours)], asked)
    assert isinstance(resolution, Routed)
    assert (resolution.lane, resolution.config_hash) == (lane, ours)


@given(PRIORITIES, POOLS, st.sampled_from(["hash", "pool", "bundle", "machine"]))
def test_a_worker_that_differs_in_anything_does_not_serve(priorities: list[int], pool: PoolName, differs: str) -> None:
    snapshot = snapshot_of(priorities, pool)
    best = BundleName(f"b{priorities.index(min(priorities))}")
    lane = Lane(
        PoolName("elsewhere") if differs == "pool" else pool,
        MachineProfile("l4" if differs == "machine" else "default"),
        BundleName("other") if differs == "bundle" else best,
    )
    config_hash = "0" * 64 if differs == "hash" else snapshot.scoped_hash(best, pool)
    assert isinstance(resolve(snapshot, [worker_at(lane, config_hash)], "acme/m"), Provisioning)


@given(st.text())
def test_an_unregistered_name_is_unknown(name: str) -> None:
    assert resolve(RegistrySnapshot.empty(), [], name) == UnknownModel(name)
