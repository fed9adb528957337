"""Gateways' pool stores on one real broker, each with its own connection."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import attrs
import trio

from sie.bus.api import Bus
from sie.bus.key_value import KeyValue
from sie.bus.nats import open_bus
from sie.domain.pool import Pool
from sie.gateway.core.pool_view import PoolView
from sie.gateway.pools.nats import NatsPools, open_nats_pools
from sie.gateway.pools.nats_following import RELIST_S
from sie.testing.nats_server import NatsServer, open_nats_server
from tests.gateway.pools.clustered import START_S, Node

BUCKET = "sie-pools"
CEILING_S = 30.0


@attrs.frozen
class BucketNode(Node):
    store: NatsPools
    bus: Bus
    kv: KeyValue


@asynccontextmanager
async def open_bucket_node(
    server: NatsServer, seed: int = 0, *, bucket: str = BUCKET, relist_s: float = RELIST_S
) -> AsyncIterator[BucketNode]:
    view = PoolView()
    async with open_bus(server.url, inbox=f"_INBOX.gw{seed}", name="test") as bus:
        kv = KeyValue(bus, bucket)
        async with open_nats_pools(kv, view, luck=Random(seed).random, relist_s=relist_s) as store:
            yield BucketNode(view, store, bus, kv)


@asynccontextmanager
async def in_a_bucket(folder: Path) -> AsyncIterator[BucketNode]:
    async with open_nats_server(store_dir=folder) as server, open_bucket_node(server) as node:
        yield node


def known(node: Node) -> tuple[Pool, ...]:
    """By name."""
    return tuple(shown.pool for shown in node.view.all_shown(START_S))


async def until(holds: Callable[[], bool]) -> None:
    """What another process has a hand in."""
    with trio.fail_after(CEILING_S):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event
            await trio.sleep(0.005)
