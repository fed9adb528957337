"""Signals of a process that has children: the first one asks for an orderly end, the second ends everything at once."""

import os
import signal
from collections.abc import Callable
from typing import NoReturn

import trio

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def obey_signals(
    stop: trio.Event, end_at_once: Callable[[], None], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> NoReturn:
    """A signal that our caller told us to ignore (`nohup`, `&` in a script) stays ignored."""
    heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    with trio.open_signal_receiver(*heeded) as signals:
        task_status.started()
        async for number in signals:
            if stop.is_set():
                end_at_once()
                os._exit(128 + number)
            stop.set()
    raise AssertionError("signals end with the process")
