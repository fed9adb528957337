"""Probes, health and the model list of a real gateway with scripted surroundings (§4, §14)."""

import trio
import trio.testing
from trio.testing import MockClock

from sie.bus.api import Message
from sie.gateway.settings import GatewaySettings
from sie.wire.configs_api import ExportRow
from tests.gateway.doubles import MODEL, ScriptedAuthority, open_gateway, worker


async def test_readyz_is_ok_with_no_worker_no_broker_and_no_config_service(autojump_clock: MockClock) -> None:
    async with open_gateway(session=0, with_worker=False, settings=GatewaySettings()) as gateway:
        for path in ("/readyz", "/healthz"):
            response = await gateway.client.get(path)
            assert (response.status_code, response.text) == (200, "ok")
            assert response.headers["content-type"] == "text/plain; charset=utf-8"


async def test_health_tells_each_worker_with_what_it_is_doing(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        gateway.bus.heartbeat(worker("w2", ready=False))
        health = (await gateway.client.get("/health")).json()
    assert (health["type"], health["status"]) == ("gateway", "healthy")
    assert health["cluster"]["worker_count"] == 1
    assert [(w["name"], w["healthy"]) for w in health["workers"]] == [("w1", True), ("w2", False)]
    assert health["workers"][0]["models"][0]["activity"] == "ready"


async def test_a_model_is_loaded_when_a_worker_with_our_configuration_says_so(autojump_clock: MockClock) -> None:
    async with open_gateway(with_worker=False) as gateway:
        before = (await gateway.client.get("/v1/models")).json()["models"][0]
        gateway.bus.heartbeat(worker(config_hash="0" * 64))
        other = (await gateway.client.get("/v1/models")).json()["models"][0]
        gateway.bus.heartbeat(worker())
        after = (await gateway.client.get(f"/v1/models/{MODEL}")).json()
    assert (before["name"], before["loaded"], before["state"]) == (MODEL, False, "available")
    assert other["loaded"] is False
    assert (after["loaded"], after["state"], after["dims"]) == (True, "loaded", {"dense": 2})


async def test_unknown_models_paths_and_methods_have_their_codes(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        model = await gateway.client.get("/v1/models/acme/other")
        path = await gateway.client.get("/nowhere")
        method = await gateway.client.post("/health")
    assert (model.status_code, model.json()["detail"]["code"]) == (404, "MODEL_NOT_FOUND")
    assert (path.status_code, path.json()["detail"]["code"]) == (404, "NOT_FOUND")
    assert (method.status_code, method.json()["detail"]["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert "GET" in method.headers["allow"]


async def test_a_heartbeat_that_cannot_be_read_changes_nothing(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        gateway.bus.subscribed["sie.health.>"](Message("sie.health.x", b"\xc1"))
        health = (await gateway.client.get("/health")).json()
    assert [w["name"] for w in health["workers"]] == ["w1"]


async def test_the_bootstrap_reads_epoch_then_bundles_then_export(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        assert gateway.authority.calls == ["epoch", "bundles", "export"]


async def test_the_bootstrap_tries_until_it_succeeds_while_the_gateway_serves(autojump_clock: MockClock) -> None:
    authority = ScriptedAuthority(failures=6)
    async with open_gateway(authority=authority) as gateway:
        assert (await gateway.client.get("/v1/models")).json() == {"models": []}
        assert (await gateway.client.get("/readyz")).status_code == 200
        await trio.sleep(60)
        assert [m["name"] for m in (await gateway.client.get("/v1/models")).json()["models"]] == [MODEL]


async def test_a_row_that_cannot_be_taken_leaves_the_good_ones_and_is_tried_again(autojump_clock: MockClock) -> None:
    good = ScriptedAuthority().rows
    authority = ScriptedAuthority(rows=(*good, ExportRow(model_id="bad", model_config={"sie_id": 3})))
    async with open_gateway(authority=authority) as gateway:
        assert [m["name"] for m in (await gateway.client.get("/v1/models")).json()["models"]] == [MODEL]
        await trio.sleep(10)
        assert authority.calls.count("export") > 1


async def test_without_a_config_service_nothing_is_fetched(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=GatewaySettings()) as gateway:
        await trio.sleep(100)
        assert not gateway.authority.calls
