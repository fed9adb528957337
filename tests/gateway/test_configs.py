"""The gateway's read surface (§5, wire-facts 4.2): its own view of the configuration, in its own envelopes."""

import pytest
import yaml
from trio.testing import MockClock

from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName
from sie.wire.configs_api import ExportRow
from tests.gateway.doubles import BUNDLE, MODEL, MODEL_CONFIG, ScriptedAuthority, open_gateway

WIDE = Bundle(BundleName("wide"), ("acme.encoders", "acme.rankers"), 20)
RANKER = "acme/ranker"
RANKER_CONFIG = {
    "sie_id": RANKER,
    "tasks": {"score": {}},
    "profiles": {
        "default": {"adapter_path": "acme.rankers:One", "max_batch_tokens": 8},
        "fast": {"adapter_path": "acme.rankers:Two", "max_batch_tokens": 8},
    },
}


def authority() -> ScriptedAuthority:
    rows = (
        ExportRow(model_id=MODEL, model_config=MODEL_CONFIG),
        ExportRow(model_id=RANKER, model_config=RANKER_CONFIG),
    )
    return ScriptedAuthority(bundles=(BUNDLE, WIDE), rows=rows)


async def test_every_name_that_can_be_served_is_listed_with_its_profiles(autojump_clock: MockClock) -> None:
    async with open_gateway(authority=authority()) as gateway:
        listed = (await gateway.client.get("/v1/configs/models")).json()
    source = "gateway-registry"
    assert listed == {
        "models": [
            {"model_id": RANKER, "profiles": ["default", "fast"], "source": source},
            {"model_id": f"{RANKER}:fast", "profiles": ["fast"], "source": source},
            {"model_id": MODEL, "profiles": ["default"], "source": source},
        ]
    }


@pytest.mark.parametrize(
    ("asked", "sie_id", "bundles"),
    [
        (MODEL, MODEL, ["default", "wide"]),
        (MODEL.upper(), MODEL, ["default", "wide"]),
        (f"{RANKER}:fast", f"{RANKER}:fast", ["wide"]),
    ],
)
async def test_a_model_is_a_yaml_document_with_its_bundles_best_first(
    asked: str, sie_id: str, bundles: list[str], autojump_clock: MockClock
) -> None:
    async with open_gateway(authority=authority()) as gateway:
        reply = await gateway.client.get(f"/v1/configs/models/{asked}")
    assert reply.headers["content-type"] == "application/x-yaml"
    assert yaml.safe_load(reply.text) == {"sie_id": sie_id, "source": "gateway-registry", "bundles": bundles}


async def test_a_path_in_status_is_the_readiness_of_a_known_model_and_else_an_id(autojump_clock: MockClock) -> None:
    async with open_gateway(authority=authority()) as gateway:
        known = await gateway.client.get(f"/v1/configs/models/{MODEL}/status")
        variant = await gateway.client.get(f"/v1/configs/models/{RANKER}:fast/status")
        unknown = await gateway.client.get("/v1/configs/models/acme/other/status")
    assert known.json()["model_id"] == MODEL
    assert [row["bundle_id"] for row in variant.json()["bundles"]] == ["wide"]
    assert (unknown.status_code, unknown.json()["detail"]["code"]) == (404, "MODEL_NOT_FOUND")
    assert unknown.json()["detail"]["model"] == "acme/other/status"


async def test_bundles_come_best_first_with_their_connected_workers(autojump_clock: MockClock) -> None:
    async with open_gateway(authority=authority()) as gateway:
        gateway.beat(name="w2", bundle="wide")
        gateway.beat(name="w3", bundle="wide", ready=False)
        gateway.beat(name="w4", bundle="WIDE")
        listed = (await gateway.client.get("/v1/configs/bundles")).json()["bundles"]
    assert listed == [
        {
            "bundle_id": "default",
            "priority": 10,
            "adapter_count": 1,
            "source": "gateway-registry",
            "connected_workers": 1,
        },
        {"bundle_id": "wide", "priority": 20, "adapter_count": 2, "source": "gateway-registry", "connected_workers": 2},
    ]


async def test_a_bundle_is_a_yaml_document_and_an_unknown_one_is_404(autojump_clock: MockClock) -> None:
    async with open_gateway(authority=authority()) as gateway:
        reply = await gateway.client.get("/v1/configs/bundles/wide")
        unknown = await gateway.client.get("/v1/configs/bundles/none")
    assert reply.headers["content-type"] == "application/x-yaml"
    assert yaml.safe_load(reply.text) == {
        "name": "wide",
        "priority": 20,
        "source": "gateway-registry",
        "adapters": ["acme.encoders", "acme.rankers"],
    }
    assert (unknown.status_code, unknown.json()["detail"]["code"]) == (404, "BUNDLE_NOT_FOUND")


async def test_a_spec_resolves_to_its_best_bundle_or_to_the_one_it_names(autojump_clock: MockClock) -> None:
    async with open_gateway(authority=authority()) as gateway:
        best = await gateway.client.post("/v1/configs/resolve", json={"model": MODEL})
        named = await gateway.client.post("/v1/configs/resolve", json={"model": f"WIDE:/{MODEL}", "bundle": "default"})
        beside = await gateway.client.post("/v1/configs/resolve", json={"model": MODEL, "bundle": "wide"})
    shared = {"model": MODEL, "compatible_bundles": ["default", "wide"], "profiles": ["default"]}
    assert best.json() == {**shared, "resolved_bundle": "default"}
    assert named.json() == beside.json() == {**shared, "resolved_bundle": "wide"}


async def test_a_bundle_that_does_not_run_the_model_is_409_and_names_those_that_do(autojump_clock: MockClock) -> None:
    async with open_gateway(authority=authority()) as gateway:
        reply = await gateway.client.post("/v1/configs/resolve", json={"model": RANKER, "bundle": "default"})
    assert reply.status_code == 409
    assert reply.json()["detail"]["code"] == "BUNDLE_CONFLICT"
    assert reply.json()["detail"]["compatible_bundles"] == ["wide"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "INVALID_REQUEST"),
        (b"[]", 400, "INVALID_REQUEST"),
        (b"{}", 400, "INVALID_REQUEST"),
        (b'{"model": ":/x"}', 400, "INVALID_REQUEST"),
        (b'{"model": "acme/none"}', 404, "MODEL_NOT_FOUND"),
    ],
)
async def test_what_cannot_be_resolved_is_told_by_its_code(
    body: bytes, status: int, code: str, autojump_clock: MockClock
) -> None:
    async with open_gateway(authority=authority()) as gateway:
        reply = await gateway.client.post("/v1/configs/resolve", content=body)
    assert (reply.status_code, reply.json()["detail"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/configs/models"), ("DELETE", f"/v1/configs/models/{MODEL}")]
)
async def test_a_write_is_405_with_the_methods_there_are(method: str, path: str, autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        reply = await gateway.client.request(method, path, content=b"sie_id: a/b")
    assert (reply.status_code, reply.json()["detail"]["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert "GET" in reply.headers["allow"]
    assert method not in reply.headers["allow"]


@pytest.mark.parametrize("path", ["/v1/configs/export", "/v1/configs/epoch"])
async def test_export_and_epoch_are_the_config_services_alone(path: str, autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        assert (await gateway.client.get(path)).status_code == 404


async def test_before_the_first_export_nothing_is_known_and_all_is_answered(autojump_clock: MockClock) -> None:
    async with open_gateway(authority=ScriptedAuthority(failures=1000)) as gateway:
        assert (await gateway.client.get("/v1/configs/models")).json() == {"models": []}
        assert (await gateway.client.get("/v1/configs/bundles")).json() == {"bundles": []}
        assert (await gateway.client.post("/v1/configs/resolve", json={"model": MODEL})).status_code == 404
