"""The log file of each process: the run before is kept beside it; its last lines are shown when something failed."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import attrs

PIECE_BYTES = 64 * 1024
LAST_LINES = 20


def log_of(logs: Path, name: str) -> Path:
    return logs / f"{name}.log"


def rotate(log: Path) -> None:
    """Make way for a new file: the one of the run before gets `.1` behind its name, in the place of an older one."""
    with suppress(FileNotFoundError):
        if log.stat().st_size:
            log.replace(log.with_name(f"{log.name}.1"))


def last_lines(log: Path, count: int = LAST_LINES) -> list[str]:
    """At most `count`, from the last PIECE_BYTES."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - PIECE_BYTES))
            return file.read().decode(errors="replace").splitlines()[-count:]
    except FileNotFoundError:
        return []


@attrs.define
class Tail:
    """What a log gains, as whole lines with the process's name in front."""

    name: str
    log: Path
    _offset: int = 0
    _rest: bytes = b""

    def copy(self, write: Callable[[str], None]) -> None:
        for line in self._new_lines():
            write(f"{self.name} | {line.decode(errors='replace')}")

    def _new_lines(self) -> Iterator[bytes]:
        with suppress(FileNotFoundError), self.log.open("rb") as file:
            file.seek(self._offset)
            while piece := file.read(PIECE_BYTES):
                self._offset += len(piece)
                *lines, self._rest = (self._rest + piece).split(b"\n")
                yield from lines
