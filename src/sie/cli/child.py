"""One child process: how it is started and killed so that none outlives us. No waiting here; `keeper` does that.

A child leads a session of its own: Ctrl-C in the terminal reaches only us, and its process group is it and what it
started. On Linux the kernel kills it when we die (PR_SET_PDEATHSIG), even by SIGKILL. That is tied to the *thread*
that forked: from trio.open_process, which forks in a worker thread, the child would die as soon as that thread goes
idle and ends. So children are forked by subprocess.Popen on the main thread.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import attrs

PR_SET_PDEATHSIG = 1
KILL_S = 1.0
"""After SIGKILL a process ends as soon as the kernel comes to it."""


@attrs.define
class Child:
    """A started process. Until it is reaped its id cannot become another's, so it is signalled only until then."""

    _process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def reaped(self) -> bool:
        return self._process.returncode is not None

    def terminate(self) -> None:
        """Ask the process itself to end; what it started is its own to stop."""
        if not self.reaped:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End the process and all of its group at once."""
        if not self.reaped:
            with suppress(ProcessLookupError, PermissionError):  # macOS: a group of zombies may not be signalled
                os.killpg(self.pid, signal.SIGKILL)

    def reap(self) -> int:
        """Kill what is left of its group, and collect it. Its exit code, or minus its signal."""
        self.kill()
        return self._process.wait(KILL_S)

    def poll(self) -> int | None:
        """As `reap` where nothing tells of the end: None while it runs."""
        code = self._process.poll()
        if code is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        return code


def start_child(argv: Sequence[str], environ: Mapping[str, str], output: Path) -> Child:
    """Start it, with both its outputs appended to a file. Call it on the main thread."""
    with output.open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 -- the plan's own programs, and no shell
            argv,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=dies_with(os.getpid()),  # noqa: PLW1509 -- two system calls; nothing that could hold a lock
        )
    return Child(process)


def dies_with(parent: int) -> Callable[[], None] | None:
    """What a child does between fork and exec, for Popen. None without prctl: there only an orderly end ends it."""
    if _PRCTL is None:
        return None
    prctl = _PRCTL

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before the call above
            os._exit(1)

    return ask


def _find_prctl() -> Callable[[int, int], object] | None:
    if sys.platform != "linux":
        return None
    found: Callable[[int, int], object] = ctypes.CDLL(None).prctl
    return found


_PRCTL = _find_prctl()
