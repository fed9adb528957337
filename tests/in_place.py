"""A service's surroundings without sockets and threads: its application is called, and its work done, in place."""

import random
from collections.abc import Callable

import attrs
import httpx2
import trio
from hypercorn.typing import ASGIFramework

from sie.runtime.world import Machine
from sie.testing.cluster.machine import work_in_place


def machine_in_place(stop: trio.Event, *, unix_s: Callable[[], float]) -> Machine:
    """Ids are the same in every run."""
    return Machine(unix_s, random.Random(7), work_in_place, stop)


@attrs.define
class ServerInPlace:
    """A `Serve` that keeps the application for `client` to call."""

    app: ASGIFramework | None = None

    async def serve(
        self,
        app: ASGIFramework,
        *,
        host: str,
        port: int,
        stop: trio.Event,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        self.app = app
        task_status.started(f"http://{host}:{port}")
        await stop.wait()

    def client(self) -> httpx2.AsyncClient:
        assert self.app is not None
        transport = httpx2.ASGITransport(app=self.app)  # type: ignore[arg-type]  # Hypercorn's ASGI is in TypedDicts
        return httpx2.AsyncClient(transport=transport, base_url="http://in-place")
