"""What do the gateway, the config service and the worker's own process cost when nobody asks for anything?

Memory is resident set size (VmRSS), summed: pages shared between them count several times, so the true cost is lower,
and the proportional sum (Pss) stands beside it. Processor time is what the kernel booked on them over a window.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from ci.lib.bench_figure import Figure
from ci.lib.demo_model import cache_folder
from ci.lib.demo_system import System, running_system

MEASURED = ("gateway", "config", "worker")
RESIDENT_LIMIT_MIB = 350.0
CPU_LIMIT_PERCENT = 3.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@attrs.frozen
class Times:
    """Seconds after ready: the memory is read at the end, the processor over the last `window_s`."""

    settle_s: float
    window_s: float


FULL = Times(settle_s=30.0, window_s=20.0)
QUICK = Times(settle_s=12.0, window_s=8.0)


def idle(quick: bool) -> Iterator[Figure]:
    times = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="sie-bench-") as state:
        flags = ["--port", "0", "--state-dir", state, "--cache-dir", str(cache_folder())]
        with running_system(flags, stderr=subprocess.DEVNULL) as system:
            yield from measure(system, times)


def measure(system: System, times: Times) -> Iterator[Figure]:
    pids = {name: system.pids[name] for name in MEASURED}
    time.sleep(times.settle_s - times.window_s)
    before, started = cpu_s(pids), time.monotonic()
    time.sleep(times.window_s)
    took_s = time.monotonic() - started
    percent = {name: 100 * (after - before[name]) / took_s for name, after in cpu_s(pids).items()}
    resident, shared_out = kib_of(pids, "status", "VmRSS"), kib_of(pids, "smaps_rollup", "Pss")
    yield Figure(
        *("idle", "resident", sum(resident.values()) / 1024, RESIDENT_LIMIT_MIB, "MiB"),
        {
            "of": "VmRSS",
            "after_s": times.settle_s,
            "parts": {name: round(kib / 1024, 1) for name, kib in resident.items()},
            "pss_mib": round(sum(shared_out.values()) / 1024, 1),
        },
    )
    yield Figure(
        *("idle", "cpu", sum(percent.values()), CPU_LIMIT_PERCENT, "% of a core"),
        {"window_s": round(took_s, 1), "parts": {name: round(part, 2) for name, part in percent.items()}},
    )


def cpu_s(pids: Mapping[str, int]) -> Mapping[str, float]:
    """Seconds of processor time, user and system, of all threads since each process began."""
    return {name: ticks(Path(f"/proc/{pid}/stat").read_text()) / TICKS_PER_S for name, pid in pids.items()}


def ticks(stat: str) -> int:
    """utime and stime: the 14th and 15th field, counted behind the command, which may hold spaces and brackets."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def kib_of(pids: Mapping[str, int], file: str, field: str) -> Mapping[str, int]:
    return {name: kib(Path(f"/proc/{pid}/{file}").read_text(), field) for name, pid in pids.items()}


def kib(text: str, field: str) -> int:
    """The value of a line such as `VmRSS:   1234 kB`."""
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{field}:"))
