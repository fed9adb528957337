"""Which real servers do histories run on? One for many histories, or for each that restarts it its own."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sie.testing.broker.comparing import Comparison
from sie.testing.broker.histories import Flavor
from sie.testing.broker.sides import MAX_PENDING_BYTES, ServerSide, Side
from sie.testing.nats_server import open_nats_server

AT_ONCE = 30  # more of them share two cores badly, and steps take longer than the lapses allow
SERVERS_AT_ONCE = 8


@asynccontextmanager
async def open_comparison(flavor: Flavor) -> AsyncIterator[Comparison]:
    if flavor == "own":
        yield Comparison(_own_server, SERVERS_AT_ONCE)
        return
    async with _own_server() as side:

        @asynccontextmanager
        async def shared_server() -> AsyncIterator[Side]:
            yield side

        yield Comparison(shared_server, AT_ONCE)


@asynccontextmanager
async def _own_server() -> AsyncIterator[Side]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "server.conf"
        settings.write_text(f"max_pending: {MAX_PENDING_BYTES}\n", encoding="utf-8")
        async with open_nats_server(store_dir=Path(folder), arguments=("-c", str(settings))) as server:
            yield ServerSide(server)
