"""What a name resolves to is a bundle that runs it, and whatever is asked, the answer has one of its forms (§5)."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.registry import RegistrySnapshot
from sie.domain.resolving import Resolved, Unresolved, profiles_of, resolve
from sie.testing import strategies


@given(strategies.snapshots, st.booleans())
def test_a_served_name_resolves_to_its_best_bundle_in_any_case(snapshot: RegistrySnapshot, shout: bool) -> None:
    for name in snapshot.serving.values():
        spec = name.model.serving_id(name.profile)
        spec = spec.upper() if shout else spec
        found = resolve(snapshot, {"model": spec})
        assert isinstance(found, Resolved)
        served = snapshot.find(spec)
        assert served is not None
        assert (found.model, found.resolved_bundle) == (spec, served.bundles[0])
        assert found.profiles == profiles_of(snapshot, spec)


@given(strategies.snapshots, strategies.bundle_names)
def test_a_bundle_that_is_asked_for_is_taken_or_is_a_conflict_that_names_the_others(
    snapshot: RegistrySnapshot, bundle: str
) -> None:
    for name in snapshot.serving.values():
        serving_id = name.model.serving_id(name.profile)
        for wanted in (bundle.lower(), *(b for b in name.bundles if b == b.lower())):
            found = resolve(snapshot, {"model": f"{wanted}:/{serving_id}"})
            served = snapshot.find(serving_id)
            assert served is not None
            if isinstance(found, Resolved):
                assert found.resolved_bundle == wanted
            else:
                assert found.fault == "bundle"
                assert found.extra["compatible_bundles"] == tuple(served.bundles)


@given(strategies.snapshots, strategies.json_values)
def test_whatever_is_asked_is_answered(snapshot: RegistrySnapshot, asked: object) -> None:
    assert isinstance(resolve(snapshot, asked), Resolved | Unresolved)
    assert isinstance(resolve(snapshot, {"model": asked, "bundle": asked}), Resolved | Unresolved)
