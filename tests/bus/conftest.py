"""A real broker for each test: a nats-server process of its own, gone with the test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sie.testing.nats_server import NatsServer, open_nats_server


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    async with open_nats_server(store_dir=tmp_path) as started:
        yield started
