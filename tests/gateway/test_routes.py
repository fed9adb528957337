"""Where requests go by their headers, through the real gateway (§2, §16.3): to their lane, or to a clear refusal."""

from collections.abc import Mapping

import attrs
import httpx2
import pytest
import trio
from trio.testing import MockClock

from sie.domain.ids import MachineProfile, WorkerId
from sie.gateway.settings import GatewaySettings
from tests.gateway.doubles import LANE, MODEL, Gateway, ScriptedAuthority, answer_at_once, open_gateway, worker

SETTINGS = GatewaySettings(
    config_service_url="http://config",
    request_timeout_s=30.0,
    configured_gpus=("default", "l4", "a100-spot"),
    configured_physical_lanes=("default/default/default", "default/l4/default", "default/a100-spot/default"),
    gpu_aliases=("small=l4",),
)


async def encode(gateway: Gateway, model: str = MODEL, **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await gateway.client.post(f"/v1/encode/{model}", json={"items": [{"text": "a"}]}, headers=named)


def told(reply: httpx2.Response) -> Mapping[str, object]:
    envelope: Mapping[str, Mapping[str, object]] = reply.json()
    return envelope.get("detail") or envelope["error"]


def add_l4(gateway: Gateway, name: str = "w2") -> None:
    lane = attrs.evolve(LANE, machine_profile=MachineProfile("l4"))
    gateway.bus.heartbeat(attrs.evolve(worker(name), lane=lane, worker=WorkerId(name)))


def add_default(gateway: Gateway) -> None:
    gateway.bus.heartbeat(worker())


@pytest.mark.parametrize("gpu", ["l4", "L4", "small", "default/l4"])
async def test_a_machine_profile_names_the_lane(gpu: str, autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS, on_work=answer_at_once) as gateway:
        add_l4(gateway)
        assert (await encode(gateway, X_SIE_Machine_Profile=gpu)).status_code == 200
        assert gateway.bus.published[-1].subject == "sie.work.default.l4.default.acme__small"
        assert gateway.bus.work[-1].machine_profile == "l4"


async def test_a_logical_pool_is_stamped_on_the_work_of_its_queue_pool(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS, on_work=answer_at_once) as gateway:
        await gateway.client.post("/v1/pools", json={"name": "acme"})
        assert (await encode(gateway, X_SIE_Pool="Acme")).status_code == 200
        work = gateway.bus.work[-1]
    assert (work.pool_name, work.admission_pool) == ("default", "acme")


@pytest.mark.parametrize(
    ("headers", "model", "status", "code"),
    [
        ({"X_SIE_Pool": "acme"}, MODEL, 404, "POOL_NOT_FOUND"),
        ({"X_SIE_Machine_Profile": "h100"}, MODEL, 400, "GPU_NOT_CONFIGURED"),
        ({}, f"other:/{MODEL}", 409, "BUNDLE_CONFLICT"),
        ({}, f":/{MODEL}", 400, "INVALID_REQUEST"),
        ({}, "acme/none", 404, "MODEL_NOT_FOUND"),
    ],
)
async def test_what_cannot_be_is_refused_by_its_code(
    headers: Mapping[str, str], model: str, status: int, code: str, autojump_clock: MockClock
) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        reply = await encode(gateway, model, **headers)
        assert (reply.status_code, told(reply)["code"]) == (status, code)
        assert not gateway.bus.work


async def test_an_unknown_profile_is_told_with_those_that_there_are(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        detail = told(await encode(gateway, X_SIE_Machine_Profile="h100"))
    assert detail["configured_gpu_types"] == ["a100-spot", "default", "l4"]
    assert detail["gpu"] == "h100"


async def test_a_cold_lane_is_503_and_scales_up(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        reply = await encode(gateway, X_SIE_Machine_Profile="a100")
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "60")
    assert reply.headers["x-sie-error-code"] == told(reply)["code"] == "PROVISIONING"
    assert "default/a100-spot/default" in str(told(reply)["message"])


async def test_a_lane_warms_as_its_worker_is_heard_and_cools_as_it_falls_silent(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS, on_work=answer_at_once) as gateway:
        assert (await encode(gateway, X_SIE_Machine_Profile="l4")).status_code == 503
        add_l4(gateway)
        assert (await encode(gateway, X_SIE_Machine_Profile="l4")).status_code == 200
        await trio.sleep(16)
        assert (await encode(gateway, X_SIE_Machine_Profile="l4")).status_code == 503


async def test_a_gateway_that_has_only_started_sends_away_for_seconds_and_never_says_404(
    autojump_clock: MockClock,
) -> None:
    authority = ScriptedAuthority(failures=4)
    async with open_gateway(authority=authority, on_work=answer_at_once) as gateway:
        reply = await encode(gateway)
        assert (reply.status_code, told(reply)["code"], reply.headers["retry-after"]) == (503, "PROVISIONING", "5")
        await trio.sleep(60)
        add_default(gateway)
        assert (await encode(gateway)).status_code == 200
        assert (await encode(gateway, "acme/none")).status_code == 404
