"""The reference's examples of models and the bundles that run them (§16.1)."""

from collections.abc import Mapping

import attrs
import pytest

from sie.domain.bundle import Bundle
from sie.domain.hash_form import HashForm
from sie.domain.ids import BundleName, ModelId, PoolName, ProfileName
from sie.domain.model import Json, Model, Profile
from sie.domain.registry import RegistrySnapshot

BUNDLES = (
    Bundle(BundleName("candle"), ("sie_server_rust.adapters.candle",), 30, "candle"),
    Bundle(BundleName("sglang"), ("sie_server.adapters.sglang.generation",), 20),
    Bundle(BundleName("default"), ("sie_server.adapters.bge_m3_flash", "sie_server.adapters.bert_flash"), 10),
    Bundle(BundleName("a-twin"), ("sie_server.adapters.bge_m3_flash",), 10),
)
E5 = Model(
    ModelId("intfloat/e5-small-v2"),
    profiles={
        ProfileName("default"): Profile("sie_server.adapters.bert_flash:BertFlash"),
        ProfileName("candle"): Profile("sie_server_rust.adapters.candle:CandleEmbeddingAdapter"),
    },
)
BGE = Model(
    ModelId("BAAI/bge-m3"),
    profiles={ProfileName("default"): Profile("sie_server.adapters.bge_m3_flash:BGEM3FlashAdapter")},
)
CANDLE_ONLY = Model(
    ModelId("acme/rusty"), profiles={ProfileName("candle"): Profile("sie_server_rust.adapters.candle:Encoder")}
)
SNAPSHOT = RegistrySnapshot.of(BUNDLES, (E5, BGE, CANDLE_ONLY))


def bundles_for(serving_id: str) -> tuple[str, ...] | None:
    found = SNAPSHOT.find(serving_id)
    return found.bundles if found else None


def test_each_profile_goes_to_the_bundle_of_its_adapter() -> None:
    assert bundles_for("intfloat/e5-small-v2") == ("default",)
    assert bundles_for("intfloat/e5-small-v2:candle") == ("candle",)


def test_a_tie_of_priorities_goes_by_name() -> None:
    assert bundles_for("BAAI/bge-m3") == ("a-twin", "default")


def test_a_name_is_found_in_any_case() -> None:
    assert bundles_for("baai/BGE-M3") == bundles_for("BAAI/bge-m3")


def test_the_bare_id_of_a_model_without_a_default_profile_is_not_served() -> None:
    assert bundles_for("acme/rusty") is None
    assert bundles_for("acme/rusty:candle") == ("candle",)


def test_a_models_bundles_are_those_of_all_its_profiles() -> None:
    assert SNAPSHOT.bundles_of(E5) == ("default", "candle")


def test_a_bundle_without_models_has_no_hash_and_no_scopes() -> None:
    assert SNAPSHOT.hashes[BundleName("sglang")] is None
    assert SNAPSHOT.scoped_hash(BundleName("sglang"), PoolName("default")) is None
    assert SNAPSHOT.scoped_hash(BundleName("no-such"), PoolName("default")) is None


def test_an_empty_registry_finds_nothing_and_has_no_fingerprints() -> None:
    empty = RegistrySnapshot.empty()
    assert empty.find("BAAI/bge-m3") is None
    assert (empty.bundles_hash, empty.bundle_config_hashes_hash) == (None, None)


def test_writing_what_is_there_is_the_same_snapshot() -> None:
    assert SNAPSHOT.with_model(attrs.evolve(BGE)) is SNAPSHOT
    assert SNAPSHOT.without_model(ModelId("acme/none")) is SNAPSHOT


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), (0.0, -0.0)])
def test_a_value_of_another_type_is_a_change_though_python_calls_it_equal(one: Json, other: Json) -> None:
    def bge(value: Json) -> Model:
        options: Mapping[str, Json] = {"runtime": {"flag": value}}
        return attrs.evolve(BGE, profiles={n: attrs.evolve(p, options=options) for n, p in BGE.profiles.items()})

    before, after = SNAPSHOT.with_model(bge(one)), SNAPSHOT.with_model(bge(other))
    assert before.hashes != after.hashes
    for changed in (before.with_model(bge(other)), before.replacing([E5, bge(other), CANDLE_ONLY])):
        assert changed.hashes == after.hashes


def test_a_change_keeps_what_it_does_not_touch() -> None:
    changed = SNAPSHOT.with_model(attrs.evolve(CANDLE_ONLY, hf_revision="f" * 40))
    assert changed.pool_hashes[BundleName("default")] is SNAPSHOT.pool_hashes[BundleName("default")]
    assert changed.hashes[BundleName("candle")] != SNAPSHOT.hashes[BundleName("candle")]
    assert changed.serving["baai/bge-m3"] is SNAPSHOT.serving["baai/bge-m3"]


def test_ids_that_differ_in_case_alone_serve_again_when_the_other_goes() -> None:
    twin = attrs.evolve(BGE, sie_id=ModelId("baai/bge-m3"))
    both = SNAPSHOT.with_model(twin)
    assert (found := both.find("BAAI/bge-m3")) is not None
    assert found.model is twin
    assert both.without_model(twin.sie_id) == SNAPSHOT


def test_the_form_stays_through_every_change() -> None:
    first = RegistrySnapshot.of(BUNDLES, (E5,), HashForm.SIE_0_10)
    changed = first.with_model(BGE).without_model(E5.sie_id).with_bundles(BUNDLES).replacing((E5, BGE))
    assert changed == RegistrySnapshot.of(BUNDLES, (E5, BGE), HashForm.SIE_0_10)
    assert changed != RegistrySnapshot.of(BUNDLES, (E5, BGE))
