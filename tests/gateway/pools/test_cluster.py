"""Gateways that keep pools in a cluster, by their HTTP: they share them, and say so where the cluster is away."""

from pathlib import Path

import pytest
import trio
from click.testing import CliRunner
from trio.testing import MockClock

from sie.gateway.__main__ import main
from sie.gateway.pools.cluster import access_to
from sie.gateway.settings import GatewaySettings
from tests.gateway.doubles import open_gateway
from tests.gateway.pools.clustered import new_double, opener

SETTINGS = GatewaySettings(config_service_url="http://config", kubernetes=True, k8s_namespace="sie")
ACME = {"name": "acme", "gpus": {"default": 1}}
KUBECONFIG = """
current-context: here
contexts: [{name: here, context: {cluster: one, user: me, namespace: elsewhere}}]
clusters: [{name: one, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me, user: {token: secret}}]
"""


async def test_two_gateways_share_the_pools_of_their_namespace(autojump_clock: MockClock) -> None:
    double = new_double()
    double.model.namespaces.add("sie")
    reach = opener(double, trio.Event())
    async with (
        open_gateway(settings=SETTINGS, open_kube=reach) as one,
        open_gateway(settings=SETTINGS, open_kube=reach) as two,
    ):
        assert (await one.client.post("/v1/pools", json=ACME)).status_code == 201
        await trio.sleep(1.5)
        there = await two.client.get("/v1/pools/acme")
        assert (there.status_code, there.json()) == (200, (await one.client.get("/v1/pools/acme")).json())
        assert there.json()["status"]["state"] == "active"
        assert (await two.client.delete("/v1/pools/acme")).status_code == 200
        await trio.sleep(1.5)
        assert (await one.client.get("/v1/pools/acme")).status_code == 404


async def test_while_the_cluster_is_away_pools_are_served_and_changes_are_503(autojump_clock: MockClock) -> None:
    double, away = new_double(), trio.Event()
    double.model.namespaces.add("sie")
    async with open_gateway(settings=SETTINGS, open_kube=opener(double, away)) as gateway:
        await gateway.client.post("/v1/pools", json=ACME)
        away.set()
        await trio.sleep(1.5)
        replies = [
            await gateway.client.post("/v1/pools", json=ACME),
            await gateway.client.post("/v1/pools/acme/renew"),
            await gateway.client.delete("/v1/pools/acme"),
        ]
        assert (await gateway.client.get("/v1/pools/acme")).status_code == 200
    for reply in replies:
        assert reply.status_code == 503
        assert reply.headers["retry-after"] == "5"
        assert reply.json()["detail"]["code"] == "POOL_STORE_UNAVAILABLE"
        assert "pools cannot be changed now" in reply.json()["detail"]["message"]


@pytest.mark.parametrize("found", ["", "clusters: ["])
def test_a_gateway_that_knows_no_cluster_is_refused_at_start(found: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    if found:
        path.write_text(found, encoding="utf-8")
    environ = {"KUBERNETES_SERVICE_HOST": "", "KUBECONFIG": str(path), "SIE_NATS_URL": "nats://127.0.0.1:1"}
    refused = CliRunner().invoke(main, ["serve", "--kubernetes"], env=environ)
    assert refused.exit_code == 2
    assert "config" in refused.output


def test_the_namespace_is_the_settings_else_the_kubeconfigs(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG, encoding="utf-8")
    environ = {"KUBECONFIG": str(path)}
    assert access_to(None, environ).namespace == "elsewhere"
    assert access_to("sie", environ).namespace == "sie"
