"""`sie up` as a child of a program under ci/ or of a test: started, awaited until it is ready, and always stopped."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO

import attrs

from sie.cli.child import dies_with

READY_WITHIN_S = 600.0
STOPPED_WITHIN_S = 15.0
_NO_VARIABLES: Mapping[str, str] = {}


class NotReady(Exception):
    """A process ended, or took too long, before it was ready; what it said is on stderr."""


@attrs.frozen
class System:
    """A running system: the object that `sie up --json` printed. `seconds` is from its start to that line."""

    process: subprocess.Popen[bytes]
    gateway: str
    config: str
    pids: Mapping[str, int]
    logs: str
    seconds: float

    def ask_to_stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Returns the exit code; raises TimeoutExpired."""
        return self.process.wait(STOPPED_WITHIN_S)


@contextmanager
def running_system(
    flags: Sequence[str], variables: Mapping[str, str] = _NO_VARIABLES, *, stderr: IO[bytes] | int | None = None
) -> Iterator[System]:
    """`stderr` is ours by default: it carries the lines that tell how the start goes on. Raises NotReady."""
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sie.cli", "up", "--json", *flags],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        preexec_fn=dies_with(os.getpid()),  # noqa: PLW1509 -- two system calls; nothing that could hold a lock
    )
    try:
        told = json.loads(first_line(process, READY_WITHIN_S, "`sie up`"))
        seconds = time.monotonic() - started
        yield System(process, told["gateway"], told["config"], told["pids"], told["logs"], seconds)
    finally:
        stop(process)


def first_line(process: subprocess.Popen[bytes], within_s: float, what: str) -> bytes:
    """What the process says when it is ready. Raises NotReady."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(within_s) else b""
    if not line.endswith(b"\n"):
        raise NotReady(f"{what} was not ready within {within_s:g} s, or has ended; what it said is above")
    return line


def stop(process: subprocess.Popen[bytes]) -> int:
    """Ask it to end, and wait. Returns its exit code; raises TimeoutExpired after killing one that does not end."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(STOPPED_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    finally:
        if process.stdout:
            process.stdout.close()
