"""The reference's examples of models and the bundles that run them (§16.1)."""

from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName, ModelId, PoolName, ProfileName
from sie.domain.model import Model, Profile
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
