"""Where does `sie up` keep things? The folders of one installation, and the lock that makes it the only one there."""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import attrs


class FolderUnusable(Exception):
    """A folder cannot be made, or another `sie up` runs on it."""


@attrs.frozen
class Folders:
    state: Path
    cache: Path

    @property
    def nats(self) -> Path:
        return self.state / "nats"

    @property
    def config(self) -> Path:
        return self.state / "config"

    @property
    def payloads(self) -> Path:
        return self.state / "payloads"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def lock(self) -> Path:
        return self.state / "lock"

    def make(self) -> None:
        """Raises FolderUnusable."""
        for folder in (self.state, self.cache, self.nats, self.config, self.payloads, self.logs):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise FolderUnusable(f"cannot make the folder {folder}: {error.strerror}") from error


def resolve_folders(state_dir: str | None, cache_dir: str | None, *, environ: Mapping[str, str], home: Path) -> Folders:
    """What is not given follows the XDG base directories."""
    return Folders(
        state=Path(state_dir).expanduser().absolute()
        if state_dir
        else _xdg(environ, "XDG_STATE_HOME", home / ".local" / "state") / "sie",
        cache=Path(cache_dir).expanduser().absolute()
        if cache_dir
        else _xdg(environ, "XDG_CACHE_HOME", home / ".cache") / "sie",
    )


@contextmanager
def holding(folders: Folders) -> Iterator[None]:
    """Own the state folder until the end; the kernel gives it back even if we are killed. Raises FolderUnusable."""
    with folders.lock.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            holder = lock.read(32).strip() or "not known"
            message = (
                f"another `sie up` (process {holder}) runs on {folders.state}; stop it, or pass another --state-dir"
            )
            raise FolderUnusable(message) from error
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def _xdg(environ: Mapping[str, str], variable: str, otherwise: Path) -> Path:
    """A relative path in an XDG variable is to be ignored, says its specification."""
    given = Path(environ.get(variable) or ".")
    return given if given.is_absolute() else otherwise
