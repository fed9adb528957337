"""The hash counts what workers must agree on and nothing else (§7), as a second implementation has it too."""

import hashlib
import json
from collections.abc import Callable, Mapping

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.bundle import Bundle
from sie.domain.bundle_hash import HashedRows, bundle_config_hash, bundle_config_hashes_hash, bundles_hash, serves
from sie.domain.hash_form import HashForm
from sie.domain.ids import BundleName, ModelId, PoolName, ProfileName
from sie.domain.joined_rows import SEGMENT_ROWS
from sie.domain.model import Json, Model, Profile
from sie.domain.registry import RegistrySnapshot
from sie.testing import strategies
from sie.wire.documents import model_of, parse_bundle
from tests.domain.second_hash import Document, pool_of, second_bundle_hash, second_bundles_hash, second_hashes_hash

DEFAULT = ProfileName("default")
HASH_MAPS = st.dictionaries(strategies.bundle_names, st.none() | strategies.bundle_hashes, max_size=4)
MODEL = st.builds(
    lambda model, profile: attrs.evolve(model, profiles={DEFAULT: profile}),
    strategies.models,
    st.builds(Profile, adapter_path=st.just("acme.enc.small:Encoder"), options=st.none() | strategies.options),
)
"""Models whose one profile runs on BUNDLE."""
BUNDLE = Bundle(BundleName("alpha"), ("acme.enc.small", "acme.enc.big"))


def turned(model: Model) -> Model:
    """The same model, written in the opposite order."""
    return attrs.evolve(model, profiles=dict(reversed(list(model.profiles.items()))))


def with_foreign_options(document: dict[str, Json], options: Json) -> dict[str, Json]:
    """With these options in the profile that comes first."""
    profiles = document["profiles"]
    assert isinstance(profiles, dict)
    return {
        **document,
        "profiles": {n: {**p, "adapter_options": options} if n == min(profiles) else p for n, p in profiles.items()},
    }


DOCUMENTS = st.lists(
    strategies.model_documents
    | st.builds(with_foreign_options, strategies.model_documents, strategies.json_maps | strategies.json_values),
    max_size=3,
    unique_by=lambda d: d["sie_id"],
)


@given(strategies.bundle_documents, DOCUMENTS, st.sampled_from(HashForm))
def test_two_implementations_agree_on_every_scope(bundle: Document, documents: list[Document], form: HashForm) -> None:
    compact = form is HashForm.SIE_0_10
    adapters = bundle["adapters"]
    assert isinstance(adapters, list)
    ours = Bundle(BundleName("alpha"), tuple(map(str, adapters)))
    models = [model_of(document) for document in documents]
    assert (bundle_config_hash(ours, models, form=form) or "") == second_bundle_hash(bundle, documents, compact=compact)
    for pool in {pool_of(document) for document in documents}:
        scoped = bundle_config_hash(ours, models, PoolName(pool), form)
        assert (scoped or "") == second_bundle_hash(bundle, documents, pool, compact=compact)


@given(st.lists(strategies.bundle_documents, max_size=3, unique_by=lambda d: d["name"]))
def test_two_implementations_agree_on_the_fingerprint_of_bundles(documents: list[Document]) -> None:
    bundles = [parse_bundle(json.dumps(document), stem="stem") for document in documents]
    assert (bundles_hash(bundles) or "") == second_bundles_hash(documents)


@given(
    st.lists(strategies.bundle_documents, max_size=3, unique_by=lambda d: d["name"]),
    DOCUMENTS,
    st.sampled_from(HashForm),
)
def test_two_implementations_agree_on_the_second_fingerprint(
    bundles: list[Document], documents: list[Document], form: HashForm
) -> None:
    ours = [parse_bundle(json.dumps(document), stem="stem") for document in bundles]
    snapshot = RegistrySnapshot.of(ours, map(model_of, documents), form)
    second = second_hashes_hash(bundles, documents, compact=form is HashForm.SIE_0_10)
    assert (snapshot.bundle_config_hashes_hash or "") == second


@given(strategies.bundles, strategies.catalogs)
def test_the_order_of_models_profiles_and_adapters_does_not_count(bundle: Bundle, models: list[Model]) -> None:
    other = attrs.evolve(bundle, adapters=bundle.adapters[::-1])
    assert bundle_config_hash(bundle, models) == bundle_config_hash(other, map(turned, models[::-1]))


@given(strategies.bundles, strategies.catalogs, strategies.bundles)
def test_only_a_bundles_adapters_count(bundle: Bundle, models: list[Model], other: Bundle) -> None:
    renamed = attrs.evolve(other, adapters=bundle.adapters)
    assert bundle_config_hash(bundle, models) == bundle_config_hash(renamed, models)


@given(strategies.bundles, strategies.catalogs, strategies.models)
def test_what_is_not_routable_does_not_count(bundle: Bundle, models: list[Model], other: Model) -> None:
    edited = [
        attrs.evolve(other, sie_id=m.sie_id, profiles=m.profiles, hf_revision=m.hf_revision, pool=m.pool)
        for m in models
    ]
    assert bundle_config_hash(bundle, models) == bundle_config_hash(bundle, edited)


Edit = Callable[[Model], Model]


def of_profile(edit: Callable[[Profile], Profile]) -> Edit:
    return lambda model: attrs.evolve(model, profiles={DEFAULT: edit(model.profiles[DEFAULT])})


EDITS: Mapping[str, Edit] = {
    "class": of_profile(lambda p: attrs.evolve(p, adapter_path="acme.enc.small:Another")),
    "module": of_profile(lambda p: attrs.evolve(p, adapter_path="acme.enc.big:Encoder")),
    "tokens": of_profile(lambda p: attrs.evolve(p, max_batch_tokens=17)),
    "precision": of_profile(lambda p: attrs.evolve(p, compute_precision="bfloat16")),
    "options": of_profile(lambda p: attrs.evolve(p, options={"runtime": {"edited": True}})),
    "revision": lambda model: attrs.evolve(model, hf_revision="edited"),
    "id": lambda model: attrs.evolve(model, sie_id=ModelId(f"edited-{model.sie_id}")),
    "profile": lambda m: attrs.evolve(m, profiles={**m.profiles, ProfileName("new"): m.profiles[DEFAULT]}),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@given(model=MODEL)
def test_every_routable_field_counts(edit: Edit, model: Model) -> None:
    assert bundle_config_hash(BUNDLE, [model]) != bundle_config_hash(BUNDLE, [edit(model)])


@given(MODEL, st.dictionaries(strategies.texts, strategies.falsy, max_size=4))
def test_options_that_are_all_falsy_say_nothing(model: Model, options: Mapping[str, Json]) -> None:
    assert _with_options(model, options) == _with_options(model, None)


@given(MODEL, st.dictionaries(strategies.texts, strategies.falsy, max_size=4), strategies.texts)
def test_beside_one_that_is_not_a_falsy_option_counts(model: Model, options: Mapping[str, Json], key: str) -> None:
    said = {**options, "on": 1}
    without = {k: v for k, v in said.items() if k != key}
    assert (_with_options(model, said) == _with_options(model, without)) == (key not in said)


@given(strategies.bundles, strategies.catalogs)
def test_what_a_profile_extends_is_hashed_as_if_written_out(bundle: Bundle, models: list[Model]) -> None:
    written_out = [
        attrs.evolve(m, profiles={name: p for name in m.profiles if (p := m.effective(name)) is not None})
        for m in models
    ]
    assert bundle_config_hash(bundle, models) == bundle_config_hash(bundle, written_out)


@given(strategies.bundles, strategies.catalogs)
def test_a_bundle_that_serves_nothing_has_no_hash(bundle: Bundle, models: list[Model]) -> None:
    assert (bundle_config_hash(bundle, models) is None) == (not any(serves(bundle, model) for model in models))


@given(strategies.bundles, strategies.catalogs)
def test_a_pools_hash_is_that_of_its_models_alone(bundle: Bundle, models: list[Model]) -> None:
    for pool in {model.pool for model in models}:
        own = [model for model in models if model.pool == pool]
        assert bundle_config_hash(bundle, models, pool) == bundle_config_hash(bundle, own)


@given(strategies.bundle_sets)
def test_a_fingerprint_of_bundles_ignores_every_order(bundles: list[Bundle]) -> None:
    turned_bundles = [attrs.evolve(b, adapters=b.adapters[::-1]) for b in bundles[::-1]]
    assert bundles_hash(bundles) == bundles_hash(turned_bundles)


@given(strategies.bundle_sets, strategies.bundle_sets)
def test_bundle_sets_that_differ_have_different_fingerprints(first: list[Bundle], second: list[Bundle]) -> None:
    def told(bundles: list[Bundle]) -> object:
        return sorted((b.name, b.priority, b.engine, sorted(b.adapters)) for b in bundles)

    assert (bundles_hash(first) == bundles_hash(second)) == (told(first) == told(second))


@given(HASH_MAPS, strategies.bundle_names, strategies.model_ids, strategies.pool_names)
def test_the_owner_of_a_model_counts_in_the_second_fingerprint(
    hashes: dict[BundleName, str | None], bundle: BundleName, model: str, pool: PoolName
) -> None:
    known = {**hashes, bundle: None}
    without = bundle_config_hashes_hash(known, {})
    assert without == bundle_config_hashes_hash(dict(reversed(known.items())), {})
    assert without != bundle_config_hashes_hash(known, {bundle: {model: pool}})


def _with_options(model: Model, options: Mapping[str, Json] | None) -> str | None:
    profile = attrs.evolve(model.profiles[DEFAULT], options=options)
    return bundle_config_hash(BUNDLE, [attrs.evolve(model, profiles={DEFAULT: profile})])


CHANGES = st.lists(st.tuples(st.integers(0, 5 * SEGMENT_ROWS), st.none() | st.binary(max_size=3)), max_size=60)


@given(CHANGES)
def test_rows_that_change_one_by_one_hash_as_if_new(changes: list[tuple[int, bytes | None]]) -> None:
    """Several segments of them; each change puts one in, replaces one or takes one out."""
    plain = {row_id(number): b"{}" for number in range(0, 5 * SEGMENT_ROWS, 2)}
    rows = HashedRows.of(plain)
    for number, text in changes:
        sie_id = row_id(number)
        rows = rows.with_row(sie_id, text) if text is not None else rows.without_row(sie_id)
        plain.pop(sie_id, None)
        plain.update({sie_id: text} if text is not None else {})
        whole = b",".join(plain[key] for key in sorted(plain))
        assert rows.value == hashlib.sha256(b"[" + whole + b"]").hexdigest()


@given(st.sets(st.integers(0, 9), min_size=1), st.permutations(range(10)))
def test_rows_that_are_all_taken_out_again_have_no_hash(numbers: set[int], order: list[int]) -> None:
    rows = HashedRows.of({row_id(number): b"{}" for number in numbers})
    for number in order:
        assert rows.value is not None or not numbers
        rows = rows.without_row(row_id(number))
        numbers = numbers - {number}
    assert rows.value is None


def row_id(number: int) -> ModelId:
    return ModelId(f"m{number:05d}")
