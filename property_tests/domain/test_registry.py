"""Which bundle serves which name (§16.1): a snapshot is one function of its bundles and models."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.bundle import Bundle
from sie.domain.bundle_hash import bundle_config_hash, serves
from sie.domain.hash_form import HashForm
from sie.domain.ids import DEFAULT_PROFILE, ModelId, PoolName
from sie.domain.model import Model
from sie.domain.registry import ModelRegistry, RegistrySnapshot
from sie.testing import strategies


@given(strategies.bundle_sets, strategies.catalogs)
def test_the_best_bundle_has_the_least_priority_and_then_the_first_name(
    bundles: list[Bundle], models: list[Model]
) -> None:
    snapshot = RegistrySnapshot.of(bundles, models)
    for name in snapshot.serving.values():
        effective = name.model.effective(name.profile)
        assert effective is not None
        fitting = [bundle for bundle in bundles if effective.module in bundle.adapters]
        assert name.bundles == tuple(b.name for b in sorted(fitting, key=lambda b: (b.priority, b.name)))
        assert name.bundles[0] == min(fitting, key=lambda b: (b.priority, b.name)).name


@given(strategies.bundle_sets, strategies.catalogs)
def test_a_name_is_served_exactly_if_a_bundle_runs_its_profile(bundles: list[Bundle], models: list[Model]) -> None:
    snapshot = RegistrySnapshot.of(bundles, models)
    for model in models:
        for profile in model.profiles:
            effective = model.effective(profile)
            runs = effective is not None and any(effective.module in bundle.adapters for bundle in bundles)
            found = snapshot.find(model.serving_id(profile))
            assert (found is not None) == runs
            assert found is None or (found.model, found.profile) == (model, profile)


@given(strategies.snapshots)
def test_the_bare_id_means_the_default_profile(snapshot: RegistrySnapshot) -> None:
    for model in snapshot.models.values():
        found = snapshot.find(model.sie_id)
        assert found is None or found.profile == DEFAULT_PROFILE


@given(strategies.snapshots)
def test_the_default_profile_may_be_named_too(snapshot: RegistrySnapshot) -> None:
    for model in snapshot.models.values():
        assert snapshot.find(f"{model.sie_id}:{DEFAULT_PROFILE}") is snapshot.find(model.sie_id)


@given(strategies.snapshots)
def test_look_up_ignores_case(snapshot: RegistrySnapshot) -> None:
    for serving_id, name in snapshot.serving.items():
        assert snapshot.find(serving_id.upper()) is name
        assert snapshot.find(name.model.serving_id(name.profile)) is name


@given(strategies.snapshots, strategies.texts)
def test_what_is_not_there_is_not_found(snapshot: RegistrySnapshot, text: str) -> None:
    assert (snapshot.find(text) is None) == (text.lower() not in snapshot.serving)


@given(strategies.bundle_sets, strategies.catalogs)
def test_the_order_in_which_things_were_read_does_not_count(bundles: list[Bundle], models: list[Model]) -> None:
    assert RegistrySnapshot.of(bundles, models) == RegistrySnapshot.of(bundles[::-1], models[::-1])


@given(strategies.bundle_sets, strategies.catalogs)
def test_a_snapshot_holds_the_hash_of_each_scope(bundles: list[Bundle], models: list[Model]) -> None:
    snapshot = RegistrySnapshot.of(bundles, models)
    for bundle in bundles:
        assert snapshot.hashes[bundle.name] == bundle_config_hash(bundle, models)
        for pool in {model.pool for model in models}:
            assert snapshot.scoped_hash(bundle.name, pool) == bundle_config_hash(bundle, models, pool)


@given(strategies.bundle_sets, strategies.catalogs)
def test_a_pool_or_bundle_without_models_has_no_scoped_hash(bundles: list[Bundle], models: list[Model]) -> None:
    snapshot = RegistrySnapshot.of(bundles, models)
    for name, scopes in snapshot.pool_hashes.items():
        served = [model for model in models if serves(snapshot.bundles[name], model)]
        assert set(scopes) == {model.pool for model in served}


@given(strategies.bundle_sets, strategies.catalogs)
def test_a_models_bundles_are_those_of_any_of_its_profiles_best_first(
    bundles: list[Bundle], models: list[Model]
) -> None:
    snapshot = RegistrySnapshot.of(bundles, models)
    for model in models:
        expected = sorted((b for b in bundles if serves(b, model)), key=lambda b: b.rank)
        assert snapshot.bundles_of(model) == tuple(b.name for b in expected)


@given(strategies.bundle_sets, strategies.catalogs, st.data())
def test_moving_a_model_to_another_pool_moves_the_second_fingerprint(
    bundles: list[Bundle], models: list[Model], data: st.DataObject
) -> None:
    if not models:
        return
    moved = data.draw(st.sampled_from(models))
    others = [model for model in models if model is not moved]
    before = RegistrySnapshot.of(bundles, models)
    after = RegistrySnapshot.of(bundles, [*others, attrs.evolve(moved, pool=PoolName("elsewhere"))])
    routed = bool(before.bundles_of(moved))
    assert (before.bundle_config_hashes_hash != after.bundle_config_hashes_hash) == routed
    assert before.hashes == after.hashes


@given(strategies.snapshots)
def test_a_registry_is_empty_until_a_snapshot_is_installed(snapshot: RegistrySnapshot) -> None:
    registry = ModelRegistry()
    assert registry.snapshot == RegistrySnapshot.empty()
    registry.install(snapshot)
    assert registry.snapshot is snapshot


SPELLINGS = st.sampled_from(("acme/a", "acme/A", "Acme/a", "acme/b", "zed")).map(ModelId)
"""Few, and some of them one in lower case."""
WRITES = st.lists(st.builds(attrs.evolve, strategies.models, sie_id=SPELLINGS) | SPELLINGS, max_size=8)
"""A model is written; an id is taken away."""


def written(snapshot: RegistrySnapshot, writes: list[Model | ModelId]) -> RegistrySnapshot:
    for write in writes:
        snapshot = snapshot.with_model(write) if isinstance(write, Model) else snapshot.without_model(write)
    return snapshot


def left_by(writes: list[Model | ModelId]) -> list[Model]:
    models: dict[ModelId, Model] = {}
    for write in writes:
        if isinstance(write, Model):
            models[write.sie_id] = write
        else:
            models.pop(write, None)
    return list(models.values())


@given(strategies.bundle_sets, st.lists(strategies.models, max_size=2), WRITES, st.sampled_from(HashForm))
def test_any_writes_leave_what_their_outcome_makes_from_scratch(
    bundles: list[Bundle], first: list[Model], writes: list[Model | ModelId], form: HashForm
) -> None:
    found = written(RegistrySnapshot.of(bundles, first, form), writes)
    expected = RegistrySnapshot.of(bundles, left_by([*first, *writes]), form)
    assert found == expected
    assert list(found.models) == list(expected.models) == sorted(expected.models)
    assert list(found.hashes) == list(found.bundles) == list(expected.bundles)
    assert [found.bundles_of(m) for m in found.models.values()] == [
        expected.bundles_of(m) for m in expected.models.values()
    ]


@given(strategies.snapshots, WRITES)
def test_a_snapshot_is_not_changed_by_what_is_made_of_it(
    snapshot: RegistrySnapshot, writes: list[Model | ModelId]
) -> None:
    written(snapshot, writes)
    assert snapshot == RegistrySnapshot.of(snapshot.bundles.values(), snapshot.models.values())


@given(strategies.snapshots, strategies.bundle_sets, WRITES)
def test_other_bundles_or_models_make_what_they_make_from_scratch(
    snapshot: RegistrySnapshot, bundles: list[Bundle], writes: list[Model | ModelId]
) -> None:
    models = left_by(writes)
    assert snapshot.with_bundles(bundles) == RegistrySnapshot.of(bundles, snapshot.models.values())
    assert snapshot.replacing(models) == RegistrySnapshot.of(snapshot.bundles.values(), models)
    assert written(snapshot.replacing(models), writes) == snapshot.replacing(models)


@given(strategies.snapshots)
def test_a_repeated_write_makes_no_snapshot(snapshot: RegistrySnapshot) -> None:
    for model in snapshot.models.values():
        assert snapshot.with_model(attrs.evolve(model)) is snapshot
