"""Who may ask the gateway for what, as clients see it (§13, wire-facts 4.5)."""

import logging

import attrs
import pytest
from trio.testing import MockClock

from sie.gateway.settings import GatewaySettings
from tests.gateway.doubles import MODEL, open_gateway

TOKENS = GatewaySettings(
    config_service_url="http://config",
    auth_mode="token",
    auth_tokens=("first", "second"),
    auth_token="third",
    admin_token="admin",
)
NO_ADMIN = attrs.evolve(TOKENS, admin_token=None)
ADMIN_REQUESTS = [
    ("POST", "/v1/configs/models"),
    ("PUT", "/v1/configs/models/a/b"),
    ("DELETE", "/v1/configs/models/a/b"),
    ("POST", "/v1/admin/anything"),
    ("POST", "/v1/pools"),
    ("POST", "/v1/pools/mine/renew"),
    ("DELETE", "/v1/pools/mine"),
]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("mode", ["token", "static", " Token "])
async def test_a_request_without_a_token_is_401_where_the_mode_asks_for_one(
    mode: str, autojump_clock: MockClock
) -> None:
    async with open_gateway(settings=attrs.evolve(TOKENS, auth_mode=mode)) as gateway:
        reply = await gateway.client.get("/v1/models")
    assert (reply.status_code, reply.json()["detail"]["code"]) == (401, "UNAUTHORIZED")
    assert reply.json()["detail"]["message"]
    assert reply.headers["www-authenticate"] == "Bearer"


async def test_a_token_that_is_not_known_is_401(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=TOKENS) as gateway:
        reply = await gateway.client.get("/v1/models", headers=bearer("fourth"))
    assert (reply.status_code, reply.json()["detail"]["code"]) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize("token", ["first", "second", "third", "admin"])
async def test_each_token_and_the_admin_token_open_the_ordinary_routes(token: str, autojump_clock: MockClock) -> None:
    async with open_gateway(settings=TOKENS) as gateway:
        for path in ("/v1/models", "/v1/configs/models", "/health", "/"):
            assert (await gateway.client.get(path, headers=bearer(token))).status_code == 200
        found = await gateway.client.post("/v1/configs/resolve", json={"model": MODEL}, headers=bearer(token))
        assert found.status_code == 200


@pytest.mark.parametrize(("method", "path"), ADMIN_REQUESTS)
async def test_what_changes_things_needs_the_admin_token(method: str, path: str, autojump_clock: MockClock) -> None:
    async with open_gateway(settings=TOKENS) as gateway:
        unsent = await gateway.client.request(method, path)
        lesser = await gateway.client.request(method, path, headers=bearer("first"))
        admin = await gateway.client.request(method, path, headers=bearer("admin"))
    assert unsent.status_code == 401
    assert (lesser.status_code, lesser.json()["detail"]["code"]) == (403, "FORBIDDEN")
    assert admin.status_code in {400, 404, 405}


@pytest.mark.parametrize("headers", [{}, bearer("first"), bearer(""), bearer("None")])
async def test_without_an_admin_token_nobody_changes_anything(
    headers: dict[str, str], autojump_clock: MockClock
) -> None:
    async with open_gateway(settings=NO_ADMIN) as gateway:
        for method, path in ADMIN_REQUESTS:
            reply = await gateway.client.request(method, path, headers=headers)
            assert (reply.status_code, reply.json()["detail"]["code"]) == (403, "FORBIDDEN")


async def test_a_mode_that_asks_for_tokens_where_none_is_set_lets_nobody_in(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=attrs.evolve(TOKENS, auth_tokens=(), auth_token=None)) as gateway:
        for headers in ({}, bearer("admin"), bearer("")):
            assert (await gateway.client.get("/v1/models", headers=headers)).status_code == 500
        assert (await gateway.client.get("/healthz")).status_code == 200


@pytest.mark.parametrize("settings", [TOKENS, attrs.evolve(TOKENS, auth_tokens=(), auth_token=None)])
async def test_probes_never_need_a_token(settings: GatewaySettings, autojump_clock: MockClock) -> None:
    async with open_gateway(settings=settings) as gateway:
        for path in ("/healthz", "/readyz"):
            assert (await gateway.client.get(path)).status_code == 200


@pytest.mark.parametrize(("exempt", "status"), [(True, 200), (False, 401)])
async def test_operational_paths_need_no_token_where_they_are_exempt(
    exempt: bool, status: int, autojump_clock: MockClock
) -> None:
    async with open_gateway(settings=attrs.evolve(TOKENS, auth_exempt_operational=exempt)) as gateway:
        for path in ("/", "/health"):
            assert (await gateway.client.get(path)).status_code == status
        async with gateway.server.socket("/ws/cluster-status") as socket:
            await gateway.client.get("/healthz")
        assert socket.status == (None if exempt else 401)
        assert bool(socket.frames) == exempt
        assert (await gateway.client.get("/v1/models")).status_code == 401


async def test_unknown_paths_and_methods_are_told_to_those_alone_who_may_ask(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=TOKENS) as gateway:
        for method, path, known in (
            ("GET", "/nowhere", 404),
            ("PATCH", "/health", 405),
            ("OPTIONS", "/v1/models", 405),
        ):
            assert (await gateway.client.request(method, path)).status_code == 401
            assert (await gateway.client.request(method, path, headers=bearer("first"))).status_code == known


async def test_a_request_is_refused_before_its_body_is_read(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=TOKENS) as gateway:
        body = b"x" * (35 * 1024 * 1024)
        assert (await gateway.client.post(f"/v1/encode/{MODEL}", content=body)).status_code == 401


async def test_a_misspelt_mode_is_told_at_start_and_means_off(
    caplog: pytest.LogCaptureFixture, autojump_clock: MockClock
) -> None:
    with caplog.at_level(logging.ERROR):
        async with open_gateway(settings=attrs.evolve(TOKENS, auth_mode="tokn")) as gateway:
            assert (await gateway.client.get("/v1/models")).status_code == 200
            assert (await gateway.client.post("/v1/configs/models")).status_code == 405
    (record,) = [record for record in caplog.records if "SIE_AUTH_MODE" in record.message]
    assert record.levelno == logging.ERROR
    assert vars(record)["mode"] == "tokn"


async def test_by_default_no_token_is_asked_for(autojump_clock: MockClock) -> None:
    async with open_gateway() as gateway:
        assert (await gateway.client.get("/v1/models")).status_code == 200
