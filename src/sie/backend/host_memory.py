"""How much memory has the device of a backend in all? What the host has, or what its container may use of that.

A GPU is asked by whoever loads the first model there: that takes JAX, for which a start does not wait.
"""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory_bytes(device: str) -> int:
    """0: not known."""
    return host_memory_bytes() if device == "cpu" else 0


def host_memory_bytes(limits: Iterable[Path] = LIMITS) -> int:
    host = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([host, *(found for path in limits if (found := _limit(path)))])


def give_back_memory() -> None:
    """What was freed goes back to the system: glibc would keep much of it, which others on the machine could use."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _limit(path: Path) -> int | None:
    """None where there is no file, or the word `max` in it."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
