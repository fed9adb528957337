"""Serving an application over HTTP until a stop event: the Protocol that a service's world holds, and Hypercorn's Trio
worker behind it. Chosen in `__main__` only.
"""

import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

import hypercorn.trio
import trio
from hypercorn.config import Config, Sockets
from hypercorn.typing import ASGIFramework

DRAIN_S = 8.0
"""Seconds that requests in flight have to finish once `stop` is set; what is left then is cancelled."""

UNREAD_S = 20.0
"""Seconds that a client may take in nothing of what waits for it: then the kernel ends the connection. Hypercorn
shields its writes, so nothing else could, a stop included.
"""

IDLE_S = 120.0
"""Seconds that a connection may be idle: longer than clients keep theirs, so that none sends on one that ends here."""

BACKLOG = 1024
"""Connections that may wait to be accepted: a burst beyond it is reset by the kernel, unheard."""


class Serve(Protocol):
    """Returns once `stop` is set and requests in flight are done; says the bound URL through `task_status`."""

    def __call__(
        self,
        app: ASGIFramework,
        *,
        host: str,
        port: int,
        stop: trio.Event,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> Awaitable[None]: ...


async def serve_hypercorn(
    app: ASGIFramework,
    *,
    host: str,
    port: int,
    stop: trio.Event,
    unread_s: float = UNREAD_S,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    config = _config(host, port, unread_s)
    async with trio.open_nursery() as nursery:
        bound: list[str] = await nursery.start(partial(_hypercorn, app, config, stop.wait))
        task_status.started(bound[0])


async def _hypercorn(
    app: ASGIFramework,
    config: Config,
    shutdown_trigger: Callable[[], Awaitable[None]],
    *,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    await hypercorn.trio.serve(app, config, shutdown_trigger=shutdown_trigger, task_status=task_status)


class _Config(Config):
    def __init__(self, unread_s: float) -> None:
        super().__init__()
        self._unread_ms = int(unread_s * 1000)

    def create_sockets(self) -> Sockets:
        """Connections inherit what their listener has."""
        sockets = super().create_sockets()
        for listener in sockets.insecure_sockets:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, self._unread_ms)
        return sockets


def _config(host: str, port: int, unread_s: float) -> Config:
    config = _Config(unread_s)
    config.bind = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}"]
    config.graceful_timeout = DRAIN_S
    config.keep_alive_timeout = IDLE_S
    config.backlog = BACKLOG
    config.include_server_header = False
    config.accesslog = None
    config.errorlog = None
    return config
