"""How does a block own background tasks, and still raise its own errors as they are?

Trio's nursery wraps whatever leaves it in a group. A caller of `open_bus` or `open_puller` wants to write
`except ConsumerLost`, so a group of one is opened here; two errors at once stay a group.
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
        error = group.exceptions[0] if len(group.exceptions) == 1 else group
    if error is not None:
        raise error  # outside the handler, so that its own cause and context stay
