"""What is loaded for a name is exactly what the registry says of it, and nothing is made up where it says nothing."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import PoolName
from sie.domain.lane import Lane
from sie.domain.registry import RegistrySnapshot
from sie.testing import strategies as sie_st
from sie.worker.core.loading import batch_budgets, canonical_names, load_request, served_names


@given(sie_st.snapshots)
def test_every_name_that_is_served_can_be_loaded_with_its_effective_profile(snapshot: RegistrySnapshot) -> None:
    budgets = batch_budgets(snapshot)
    for name in snapshot.serving.values():
        profile = name.model.effective(name.profile)
        assert profile is not None
        serving_id = name.model.serving_id(name.profile)
        request = load_request(snapshot, serving_id.upper())
        assert request is not None
        assert (request.serving_id, request.adapter_path) == (serving_id, profile.adapter_path)
        assert request.model_id == name.model.sie_id
        assert request.loadtime == (profile.options or {}).get("loadtime", {})
        assert budgets.get(serving_id) == profile.max_batch_tokens


@given(sie_st.snapshots, st.sampled_from(("default", "team-a")), sie_st.lanes)
def test_a_lane_serves_the_names_of_its_bundle_and_pool(snapshot: RegistrySnapshot, pool: str, lane: Lane) -> None:
    for bundle in snapshot.bundles:
        here = Lane(PoolName(pool), lane.machine_profile, bundle)
        for serving_id, name in served_names(snapshot, here).items():
            assert snapshot.find(serving_id) is name
            assert bundle in name.bundles
            assert name.model.pool == pool
        assert bool(served_names(snapshot, here)) <= bool(snapshot.scoped_hash(bundle, here.pool))


@given(sie_st.snapshots, sie_st.texts)
def test_an_unknown_name_is_kept_as_it_is_and_cannot_be_loaded(snapshot: RegistrySnapshot, name: str) -> None:
    if snapshot.find(name) is None:
        assert load_request(snapshot, name) is None
        assert canonical_names(snapshot, [name]) == (name,)
    assert canonical_names(snapshot, [key.upper() for key in snapshot.serving]) == tuple(
        found.model.serving_id(found.profile) for found in snapshot.serving.values()
    )
