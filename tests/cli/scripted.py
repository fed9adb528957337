"""Scripted children for the supervisor: small Python programs that die, ignore signals, or leave something behind."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import trio

from sie.cli.family import Family, make_family
from sie.cli.plan import Service
from sie.cli.screen import PlainScreen

BOUND_S = 15.0
SLEEP = "import time; time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); {SLEEP}"
BAD = "print('cannot go on'); raise SystemExit(3)"
GRANDCHILD = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {STUBBORN!r}]).pid, flush=True)"
PARENT = f"{GRANDCHILD}; {SLEEP}"
PARENT_THAT_DIES = f"{GRANDCHILD}; raise SystemExit(4)"
TELLS = """
import signal, sys, time
def end(*_):
    with open({journal!r}, "a") as file: file.write({name!r} + " ")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("listening", flush=True)
time.sleep(600)
"""


def service(name: str, script: str, grace_s: float = 5.0) -> Service:
    return Service(name, (sys.executable, "-c", script), dict(os.environ), grace_s)


@attrs.define
class Scene:
    """A family of scripted services with everything that it said."""

    family: Family
    stop: trio.Event
    lines: list[str]
    logs: Path

    def log(self, name: str) -> str:
        path = self.logs / f"{name}.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def said(self, text: str) -> bool:
        return any(text in line for line in self.lines)


def scene(logs: Path, *services: Service) -> Scene:
    lines: list[str] = []
    stop = trio.Event()
    return Scene(make_family(services, {}, logs, PlainScreen(lines.append), stop), stop, lines, logs)


async def until(condition: Callable[[], object], bound_s: float = BOUND_S) -> None:
    """Wait for something that another process does; nothing here could tell when."""
    with trio.fail_after(bound_s):
        while not condition():  # noqa: ASYNC110 -- the event happens in another process
            await trio.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")
