"""Worker-ack status, rule by rule (§6)."""

from collections.abc import Mapping

from trio.testing import MockClock

from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName, ModelId
from sie.domain.registry import RegistrySnapshot
from sie.gateway.core.readiness import readiness_document, readiness_of
from sie.wire.documents import model_of
from tests.gateway.doubles import BUNDLE, LANE, MODEL, MODEL_CONFIG, SNAPSHOT, Gateway, ScriptedAuthority, open_gateway

EXPECTED = SNAPSHOT.scoped_hash(LANE.bundle, LANE.pool)
OTHER = "0" * 64


async def status_of(gateway: Gateway) -> Mapping[str, object]:
    status: Mapping[str, object] = (await gateway.client.get(f"/v1/configs/models/{MODEL}/status")).json()
    return status


async def the_bundle(gateway: Gateway) -> Mapping[str, object]:
    rows = (await status_of(gateway))["bundles"]
    assert isinstance(rows, list)
    (row,) = rows
    assert isinstance(row, dict)
    return row


async def test_the_answer_has_every_field_of_the_reference(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        assert await status_of(gateway) == {
            "model_id": MODEL,
            "config_epoch": 3,
            "all_bundles_acked": True,
            "no_bundles": False,
            "bundles": [
                {
                    "bundle_id": "default",
                    "pool": "default",
                    "expected_bundle_config_hash": EXPECTED,
                    "total_eligible_workers": 1,
                    "acked_workers": ["w1"],
                    "pending_workers": [],
                    "acked": True,
                }
            ],
            "source": "gateway-registry",
        }


async def test_a_worker_with_another_hash_is_pending_and_its_bundle_not_acked(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        gateway.beat(name="w2", bundle_config_hash=OTHER)
        row = await the_bundle(gateway)
        assert (row["acked_workers"], row["pending_workers"], row["acked"]) == (["w1"], ["w2"], False)
        assert (await status_of(gateway))["all_bundles_acked"] is False
        gateway.beat(name="w2")
        assert (await status_of(gateway))["all_bundles_acked"] is True


async def test_a_bundle_without_an_eligible_worker_is_not_acked(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        row = await the_bundle(gateway)
        assert (row["total_eligible_workers"], row["acked"]) == (0, False)
        assert (await status_of(gateway))["all_bundles_acked"] is False


async def test_a_bundle_matches_in_its_own_case_alone(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        gateway.beat(name="w2", bundle="Default", bundle_config_hash=OTHER)
        row = await the_bundle(gateway)
        assert (row["total_eligible_workers"], row["pending_workers"]) == (1, [])


async def test_a_worker_of_another_pool_counts_nowhere(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        gateway.beat(name="w2", pool_name="other", bundle_config_hash=OTHER)
        gateway.beat(name="w3", pool_name="other")
        row = await the_bundle(gateway)
        assert (row["acked_workers"], row["pending_workers"]) == (["w1"], [])


async def test_the_hash_that_is_expected_is_that_of_the_models_own_pool(autojump_clock: MockClock) -> None:
    """Another model of the bundle in another pool changes the bundle's hash and not this scope's."""
    other = {**MODEL_CONFIG, "sie_id": "acme/other", "pool": "other"}
    snapshot = RegistrySnapshot.of([BUNDLE], [model_of(MODEL_CONFIG), model_of(other)])
    (row,) = readiness_of(snapshot, snapshot.models[ModelId("acme/other")], [BUNDLE.name], []).bundles
    assert (row.pool, row.expected) == ("other", snapshot.pool_hashes[BUNDLE.name][row.pool])
    assert row.expected != snapshot.hashes[BUNDLE.name]
    (ours,) = readiness_of(snapshot, snapshot.models[ModelId(MODEL)], [BUNDLE.name], []).bundles
    assert ours.expected == EXPECTED


async def test_an_unhealthy_worker_counts_nowhere(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        gateway.beat(name="w2", ready=False, bundle_config_hash=OTHER)
        gateway.beat(name="w3", draining=True, bundle_config_hash=OTHER)
        row = await the_bundle(gateway)
        assert (row["total_eligible_workers"], row["pending_workers"], row["acked"]) == (1, [], True)


async def test_a_model_without_bundles_is_never_acked_and_says_so() -> None:
    snapshot = RegistrySnapshot.of([Bundle(BundleName("none"), ())], [model_of(MODEL_CONFIG)])
    model = snapshot.models[ModelId(MODEL)]
    told = readiness_document(MODEL, 3, readiness_of(snapshot, model, snapshot.bundles_of(model), []))
    assert (told["all_bundles_acked"], told["no_bundles"], told["bundles"]) == (False, True, [])


async def test_every_bundle_must_be_acked(autojump_clock: MockClock) -> None:
    second = Bundle(BundleName("second"), ("acme.encoders",), 20)
    async with open_gateway(authority=ScriptedAuthority(bundles=(BUNDLE, second))) as gateway:
        before = await status_of(gateway)
        gateway.beat(name="w2", bundle="second")
        after = await status_of(gateway)
    assert (before["all_bundles_acked"], after["all_bundles_acked"]) == (False, True)


async def test_the_epoch_told_is_this_replicas_own(autojump_clock: MockClock) -> None:
    async with open_gateway(authority=ScriptedAuthority(failures=1000)) as gateway:
        assert (await gateway.client.get("/health")).json()["config_epoch"] == 0
    async with open_gateway() as gateway:
        assert (await status_of(gateway))["config_epoch"] == 3
