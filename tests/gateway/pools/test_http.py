"""`/v1/pools` as clients see it (§14, §16.3, wire-facts 1.10 and 4.4)."""

from collections.abc import Mapping

import attrs
import httpx2
import pytest
import trio
from trio.testing import MockClock

from sie.gateway.http import pools
from sie.gateway.settings import GatewaySettings
from sie.wire.codec import pack
from tests.gateway.doubles import MODEL, Gateway, open_gateway

SETTINGS = GatewaySettings(
    config_service_url="http://config",
    configured_gpus=("default", "l4", "a100"),
    static_queue_pools=("dedicated",),
)
SDK_GET = {"Content-Type": "application/msgpack", "Accept": "application/json"}


async def create(gateway: Gateway, **body: object) -> httpx2.Response:
    return await gateway.client.post("/v1/pools", json={"name": "acme", **body})


def detail(reply: httpx2.Response) -> Mapping[str, object]:
    """What an error tells: always a map, or the published client could not read it."""
    told = reply.json()["detail"]
    assert isinstance(told, dict)
    assert told["message"]
    return told


async def test_a_pool_is_created_with_all_that_was_asked_for(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        reply = await create(
            gateway,
            name="Acme",
            gpus={"L4": 1},
            gpu_caps={"l4": 4},
            queue_pool="Dedicated",
            bundle="SGLang",
            ttl_seconds=60,
            minimum_worker_count=2,
            pinned_models=[MODEL.upper(), f"{MODEL}:default"],
        )
        now_s = 1_000_000.0 + trio.current_time()
    assert reply.status_code == 201
    assert reply.json() == {
        "name": "acme",
        "spec": {
            "name": "acme",
            "gpus": {"l4": 1},
            "gpu_caps": {"l4": 4},
            "queue_pool": "dedicated",
            "bundle": "sglang",
            "ttl_seconds": 60,
            "minimum_worker_count": 2,
            "pinned_models": [MODEL],
        },
        "status": {"state": "pending", "assigned_workers": [], "created_at": now_s, "last_renewed": now_s},
    }


async def test_a_pool_of_the_workers_that_are_there_is_active_at_once(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        gateway.beat(name="http://w2:8080")
        await trio.sleep(1.5)
        reply = await create(gateway, gpus={"default": 2}, gpu_caps={"default": 2})
        status = reply.json()["status"]
        assert status["state"] == "active"
        assert status["assigned_workers"] == [
            {"name": "w1", "url": "", "gpu": "default", "bundle": "default"},
            {"name": "w2_8080", "url": "http://w2:8080", "gpu": "default", "bundle": "default"},
        ]
        gateway.beat(name="http://w2:8080", ready=False)
        await trio.sleep(1.5)
        assert (await gateway.client.get("/v1/pools/acme")).json()["status"]["state"] == "pending"


async def test_the_published_clients_calls_are_taken_as_they_are(autojump_clock: MockClock) -> None:
    """Its reads come with a Content-Type of msgpack and no body."""
    async with open_gateway(settings=SETTINGS) as gateway:
        assert (await gateway.client.get("/v1/pools/acme", headers=SDK_GET)).status_code == 404
        created = await create(gateway, gpus={"l4": 1})
        assert created.json()["status"]["state"] == "pending"
        renewed = await gateway.client.post("/v1/pools/acme/renew", headers=SDK_GET)
        assert (renewed.status_code, renewed.json()) == (200, {"message": "Pool renewed"})
        found = await gateway.client.get("/v1/pools/ACME", headers=SDK_GET)
        assert (found.status_code, found.json()) == (200, created.json())
        deleted = await gateway.client.delete("/v1/pools/acme", headers=SDK_GET)
        assert (deleted.status_code, deleted.json()) == (200, {"message": "Pool deleted"})
        assert (await gateway.client.delete("/v1/pools/acme", headers=SDK_GET)).status_code == 404


async def test_creating_again_changes_and_renews(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        first = (await create(gateway, gpus={"l4": 1}, ttl_seconds=60)).json()["status"]
        await trio.sleep(50)
        again = await create(gateway, gpus={"a100": 2}, ttl_seconds=60)
        assert again.status_code == 201
        assert again.json()["spec"]["gpus"] == {"a100": 2}
        assert again.json()["status"]["created_at"] == first["created_at"]
        assert again.json()["status"]["last_renewed"] == pytest.approx(first["last_renewed"] + 50)
        await trio.sleep(50)
        assert (await gateway.client.get("/v1/pools/acme")).json()["status"]["state"] == "pending"
        await trio.sleep(20)
        assert (await gateway.client.get("/v1/pools/acme")).status_code == 404


async def test_the_list_has_every_pool_by_name_and_the_clusters_own(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        await trio.sleep(1.5)
        created = await create(gateway, gpus={"l4": 1})
        listed = await gateway.client.get("/v1/pools", headers=SDK_GET)
        default = await gateway.client.get("/v1/pools/default")
    assert (listed.status_code, listed.headers["content-type"]) == (200, "application/json")
    pools = listed.json()["pools"]
    assert [pool["name"] for pool in pools] == ["acme", "dedicated", "default"]
    assert pools[0] == created.json()
    assert pools[2] == default.json()
    assert (pools[1]["spec"]["queue_pool"], pools[1]["status"]["state"]) == ("dedicated", "pending")
    assert pools[2]["spec"]["gpus"] == pools[2]["spec"]["gpu_caps"] == {}
    assert pools[2]["status"]["state"] == "active"
    assert [worker["name"] for worker in pools[2]["status"]["assigned_workers"]] == ["w1"]


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        ({"gpus": {"h100": 1}}, "GPU_NOT_CONFIGURED", "h100"),
        ({"gpu_caps": {"h100": 1}}, "GPU_NOT_CONFIGURED", "h100"),
        ({"queue_pool": "other"}, "QUEUE_POOL_NOT_STATIC", "other"),
        ({"pinned_models": ["no/body"]}, "PINNED_MODEL_NOT_FOUND", "no/body"),
        ({"name": "a.b"}, "INVALID_REQUEST", "name must be 1 to 63"),
        ({"name": "a b"}, "INVALID_REQUEST", "name must be 1 to 63"),
        ({"name": "a" * 64}, "INVALID_REQUEST", "name must be at most 63 characters"),
        ({"name": "_default"}, "INVALID_REQUEST", "reserved"),
        ({"name": 7}, "INVALID_REQUEST", "name: must be a string, not an integer"),
        ({"gpus": {"l4": -1}}, "INVALID_REQUEST", "gpus.l4 must be 0 to 100000, not -1"),
        ({"gpus": {"l4": True}}, "INVALID_REQUEST", "gpus.l4: must be an integer"),
        ({"gpus": {"l4": 2}, "gpu_caps": {"l4": 1}}, "INVALID_REQUEST", "gpu_caps.l4 must be at least gpus.l4"),
        ({"minimum_worker_count": -1}, "INVALID_REQUEST", "minimum_worker_count must be 0 to 100000, not -1"),
        ({"ttl_seconds": 0}, "INVALID_REQUEST", "ttl_seconds must be 1 to 31622400, not 0"),
        ({"ttl_seconds": 10**12}, "INVALID_REQUEST", "ttl_seconds must be 1 to 31622400, not 1000000000000"),
        ({"gpu_cap": {"l4": 1}}, "INVALID_REQUEST", "gpu_cap: unknown field"),
    ],
)
async def test_a_pool_that_may_not_be_is_400_with_the_reason(
    body: Mapping[str, object], code: str, told: str, autojump_clock: MockClock
) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        reply = await create(gateway, **body)
        left = await gateway.client.get("/v1/pools")
    assert (reply.status_code, detail(reply)["code"]) == (400, code)
    assert told in str(detail(reply)["message"])
    assert len(left.json()["pools"]) == 2


async def test_an_unknown_profile_is_told_with_those_that_there_are(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        told = detail(await create(gateway, gpus={"h100": 1}))
    assert (told["gpu"], told["configured_gpu_types"]) == ("h100", ["a100", "default", "l4"])


async def test_without_configured_profiles_any_may_be_named(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=attrs.evolve(SETTINGS, configured_gpus=())) as gateway:
        assert (await create(gateway, gpus={"h100": 1})).status_code == 201


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
async def test_a_body_that_is_no_pool_is_400(content: bytes, autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        reply = await gateway.client.post("/v1/pools", content=content)
    assert (reply.status_code, detail(reply)["code"]) == (400, "INVALID_REQUEST")


async def test_a_spec_of_a_mebibyte_is_413_with_the_limit_and_its_size(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        reply = await gateway.client.post("/v1/pools", content=b" " * 2**20)
    assert (reply.status_code, detail(reply)["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert detail(reply)["message"] == "a pool must be at most 65536 bytes, not 1048576"


async def test_beyond_the_limit_a_new_pool_is_409_and_a_known_one_is_changed(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    monkeypatch.setattr(pools, "MAX_POOLS", 3)
    async with open_gateway(settings=SETTINGS) as gateway:
        assert (await create(gateway)).status_code == 201
        refused = await create(gateway, name="other")
        assert refused.status_code == 409
        assert detail(refused)["code"] == "TOO_MANY_POOLS"
        assert "at most 3 pools" in str(detail(refused)["message"])
        assert (await create(gateway, gpus={"l4": 1})).status_code == 201
        await gateway.client.delete("/v1/pools/acme")
        assert (await create(gateway, name="other")).status_code == 201


async def test_a_pool_may_be_asked_for_in_msgpack(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        headers = {"Content-Type": "application/msgpack"}
        reply = await gateway.client.post("/v1/pools", content=pack({"name": "acme"}), headers=headers)
    assert (reply.status_code, reply.json()["name"]) == (201, "acme")


@pytest.mark.parametrize("name", ["default", "DEFAULT", "dedicated"])
async def test_the_clusters_own_pools_stay(name: str, autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        deleted = await gateway.client.delete(f"/v1/pools/{name}")
        made = await create(gateway, name=name)
        renewed = await gateway.client.post(f"/v1/pools/{name}/renew")
        there = await gateway.client.get(f"/v1/pools/{name}")
    assert [(reply.status_code, detail(reply)["code"]) for reply in (deleted, made)] == [(403, "POOL_PROTECTED")] * 2
    assert (renewed.status_code, there.status_code) == (200, 200)


@pytest.mark.parametrize("name", ["nobody", "a.b", "%20", "x" * 64])
async def test_a_pool_that_is_not_there_is_404(name: str, autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        replies = [
            await gateway.client.get(f"/v1/pools/{name}"),
            await gateway.client.delete(f"/v1/pools/{name}"),
            await gateway.client.post(f"/v1/pools/{name}/renew"),
        ]
    assert [(reply.status_code, detail(reply)["code"]) for reply in replies] == [(404, "POOL_NOT_FOUND")] * 3


async def test_there_is_nothing_to_post_to_but_renew(autojump_clock: MockClock) -> None:
    async with open_gateway(settings=SETTINGS) as gateway:
        reply = await gateway.client.post("/v1/pools/default")
        other = await gateway.client.put("/v1/pools/default")
    assert (reply.status_code, detail(reply)["code"]) == (404, "NOT_FOUND")
    assert (other.status_code, detail(other)["code"]) == (405, "METHOD_NOT_ALLOWED")


async def test_pools_are_changed_with_the_admin_token_and_read_with_any(autojump_clock: MockClock) -> None:
    settings = attrs.evolve(SETTINGS, auth_mode="token", auth_tokens=("one",), admin_token="admin")
    async with open_gateway(settings=settings) as gateway:
        ordinary, admin = {"Authorization": "Bearer one"}, {"Authorization": "Bearer admin"}
        made = [
            await gateway.client.post("/v1/pools", json={"name": "acme"}, headers=headers)
            for headers in ({}, ordinary, admin)
        ]
        read = [await gateway.client.get("/v1/pools/acme", headers=headers) for headers in ({}, ordinary, admin)]
        gone = [await gateway.client.delete("/v1/pools/acme", headers=headers) for headers in (ordinary, admin)]
    assert [reply.status_code for reply in made] == [401, 403, 201]
    assert [reply.status_code for reply in read] == [401, 200, 200]
    assert [reply.status_code for reply in gone] == [403, 200]
