"""How does a block own background tasks, and still raise its own errors as they are?

Trio's nursery wraps whatever leaves it in a group. A caller of `open_bus` or `open_puller` wants to write
`except ConsumerLost`, so a group of one is opened here; two errors at once stay a group. A cancel beside an error is
left out of it, since whoever handles the error meets the cancel again at the next checkpoint.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def background(*tasks: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Run `tasks` beside the block, and cancel them when it is left."""
    error: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            for task in tasks:
                nursery.start_soon(task)
            yield
            nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        told = group.split(trio.Cancelled)[1] or group
        error = told.exceptions[0] if len(told.exceptions) == 1 else told
    if error is not None:
        raise error  # outside the handler, so that its own cause and context stay
