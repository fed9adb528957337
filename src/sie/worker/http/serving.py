"""The worker's endpoint for as long as the worker lives. Its start delays nothing; without it nothing is loaded."""

import importlib
import logging
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Protocol

import attrs
import trio

from sie.web.routes import Route, SocketRoute
from sie.worker.http.status import Views, routes, sockets

log = logging.getLogger(__name__)


class Serve(Protocol):
    """Returns once `stop` is set; says the bound URL through `task_status`. Raises OSError where it cannot listen."""

    def __call__(
        self,
        routes: Iterable[Route],
        sockets: Iterable[SocketRoute],
        *,
        host: str,
        port: int,
        stop: trio.Event,
        task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
    ) -> Awaitable[None]: ...


@attrs.frozen
class Endpoint:
    """Where it is served, and by what."""

    serve: Serve
    host: str
    port: int


async def serve_status(
    routes: Iterable[Route],
    sockets: Iterable[SocketRoute],
    *,
    host: str,
    port: int,
    stop: trio.Event,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """The server takes half a second of computing to import: the worker starts meanwhile."""
    await trio.to_thread.run_sync(importlib.import_module, "sie.worker.http.application")
    from sie.worker.http.application import serve  # noqa: PLC0415 -- see above

    await serve(routes, sockets, host=host, port=port, stop=stop, task_status=task_status)


@asynccontextmanager
async def told(views: Views, endpoint: Endpoint | None) -> AsyncIterator[None]:
    """What the block does is told; a socket's readers hear of its end last of all."""
    if endpoint is None:
        yield
        return
    over = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_tell, views, endpoint, over)
        yield
        over.set()


async def _tell(views: Views, endpoint: Endpoint, over: trio.Event) -> None:
    served = partial(endpoint.serve, routes(views), sockets(views, over), host=endpoint.host, port=endpoint.port)
    try:
        async with trio.open_nursery() as nursery:
            url: str = await nursery.start(partial(served, stop=over))
            log.info("the worker's status is told", extra={"url": url})
    except* OSError as failed:
        words = "; ".join(map(str, _leaves(failed)))
        log.error("the worker's status cannot be told", extra={"port": endpoint.port, "error": words})
        raise


def _leaves(group: BaseExceptionGroup) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
