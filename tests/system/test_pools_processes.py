"""Two gateway processes agree on pools after each of 500 random operations (§16.3): on one cluster's API server, and
on one broker's bucket.
"""

import os
import random
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import httpx2
import trio

from sie.cli.ports import LOOPBACK, free_ports
from sie.testing.kube.served import open_kube_double
from sie.testing.nats_server import open_nats_server

OPERATIONS = 500
START_S, AGREE_S = 60.0, 10.0
KUBECONFIG = """
current-context: here
contexts: [{{name: here, context: {{cluster: double, user: gateway}}}}]
clusters: [{{name: double, cluster: {{server: "{url}"}}}}]
users: [{{name: gateway, user: {{token: secret}}}}]
"""


@asynccontextmanager
async def gateways(told: Mapping[str, str]) -> AsyncIterator[tuple[httpx2.AsyncClient, ...]]:
    environ = {**os.environ, **told}
    one, two = free_ports(2)
    async with trio.open_nursery() as nursery, client(one) as first, client(two) as second:
        for port in (one, two):
            command = [sys.executable, "-m", "sie.gateway", "serve", "--host", LOOPBACK, "--port", str(port)]
            nursery.start_soon(partial(trio.run_process, command, env=environ, capture_stderr=True))
        for asked in (first, second):
            await listening(asked)
        yield first, second
        nursery.cancel_scope.cancel()


def in_a_cluster(url: str, folder: Path) -> Mapping[str, str]:
    """They need no broker for pools, and have none."""
    (folder / "kubeconfig").write_text(KUBECONFIG.format(url=url), encoding="utf-8")
    told = {"KUBECONFIG": str(folder / "kubeconfig"), "SIE_GATEWAY_KUBERNETES": "true", "KUBERNETES_SERVICE_HOST": ""}
    return {**told, "SIE_NATS_URL": f"nats://{LOOPBACK}:1"}


def client(port: int) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=f"http://{LOOPBACK}:{port}", timeout=AGREE_S)


async def listening(gateway: httpx2.AsyncClient) -> None:
    with trio.fail_after(START_S):
        while True:
            try:
                await gateway.get("/healthz")
            except httpx2.TransportError:
                await trio.sleep(0.1)
            else:
                return


async def operate(gateway: httpx2.AsyncClient, luck: random.Random) -> int:
    name = luck.choice("abc_") + luck.choice("x-")
    match luck.randrange(4):
        case 0:
            return (await gateway.post(f"/v1/pools/{name}/renew")).status_code
        case 1:
            return (await gateway.delete(f"/v1/pools/{name}")).status_code
        case _:
            body = {"name": name, "gpus": {"l4": luck.randrange(3)}, "ttl_seconds": luck.choice((1, 60))}
            return (await gateway.post("/v1/pools", json=body)).status_code


async def dynamic(gateway: httpx2.AsyncClient) -> list[Mapping[str, object]]:
    """Without the state, which is the moment's."""
    pools = (await gateway.get("/v1/pools")).json()["pools"]
    kept = [pool for pool in pools if pool["name"] != "default"]
    for pool in kept:
        del pool["status"]["state"]
    return kept


async def agree(one: httpx2.AsyncClient, two: httpx2.AsyncClient) -> None:
    with trio.fail_after(AGREE_S):
        while await dynamic(one) != await dynamic(two):  # noqa: ASYNC110 - two processes, which have no event for us
            await trio.sleep(0.01)


async def operate_and_agree(one: httpx2.AsyncClient, two: httpx2.AsyncClient) -> None:
    luck, statuses = random.Random(5), set[int]()
    for _ in range(OPERATIONS):
        statuses.add(await operate(luck.choice((one, two)), luck))
        await agree(one, two)
    assert statuses == {200, 201, 404}


async def test_two_gateway_processes_of_a_cluster_agree_after_each_of_500_operations(tmp_path: Path) -> None:
    async with open_kube_double() as served, gateways(in_a_cluster(served.url, tmp_path)) as (one, two):
        await operate_and_agree(one, two)


async def test_two_gateway_processes_of_a_broker_agree_after_each_of_500_operations(tmp_path: Path) -> None:
    async with open_nats_server(store_dir=tmp_path) as server:
        told = {"SIE_NATS_URL": server.url, "SIE_GATEWAY_POOL_BUCKET": "sie-pools"}
        async with gateways(told) as (one, two):
            await operate_and_agree(one, two)
