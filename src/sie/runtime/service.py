"""How a service runs and ends (house: stop is an event, not a cancel): background tasks, signals, the main call.

The first SIGTERM or SIGINT sets `stop` and the service ends in order; a second one ends the process at once.
"""

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NoReturn

import trio

Forever = Callable[[], Awaitable[NoReturn]]
SECOND_SIGNAL_EXIT = 128


@asynccontextmanager
async def running(*tasks: Forever) -> AsyncIterator[None]:
    """Run endless tasks beside the body that owns them: they are cancelled when it ends; an error in one ends it."""
    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(task)
        yield
        nursery.cancel_scope.cancel()


async def stop_on_signals(
    stop: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> NoReturn:
    """Set `stop` at the first signal; end the process with 128 plus the number at the second."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for number in signals:
            if stop.is_set():
                os._exit(SECOND_SIGNAL_EXIT + number)
            stop.set()
    raise AssertionError("signals end with the process")


def run_service(service: Callable[[trio.Event], Awaitable[None]]) -> None:
    """Run one service until it returns, with its stop event tied to the process's signals."""

    async def main() -> None:
        stop = trio.Event()
        async with trio.open_nursery() as nursery:
            await nursery.start(stop_on_signals, stop)
            await service(stop)
            nursery.cancel_scope.cancel()

    trio.run(main)
