"""How does the config store lie on a local disk (§9)? One folder, one file an object, each replaced whole.

A write goes to `.writing` beside its target, under the root's lock: what a crash left there is never listed, and the
next write takes its place. The new name is durable when the folder was synced too.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from sie.storage.backend import (
    Named,
    OutcomeUnknown,
    StorageError,
    VersionConflict,
    Versioned,
    checked,
    decoded,
    encoded,
)

LOCK = ".lock"
WRITING = ".writing"
LOCK_S = 10.0  # a writer needs milliseconds; one that was stopped in the middle must not stop the others for ever
POLL_S = 0.002
FILE_MODE = 0o644


def _unwatched(_step: str) -> None:
    pass


@attrs.frozen
class LocalBackend:
    """`reached` is told of each step of a write before it is made, so that a test can end the process right there."""

    root: Path
    reached: Callable[[str], None] = _unwatched
    lock_s: float = LOCK_S

    def read_versioned(self, name: str) -> Versioned | None:
        with _told(name):
            return _read(self.root / checked(name))

    def compare_and_swap(self, name: str, text: str, version: str | None) -> str:
        path = self.root / checked(name)
        data = encoded(name, text)
        with _told(name):
            _make_folder(path.parent)
            with _locked(self.root, self.lock_s):
                present = _stat(path)
                if version != (present and _version(present)):
                    raise VersionConflict(f"{name}: another writer changed it")
                return self._replace(path, data, present)

    def read_folder(self, prefix: str) -> tuple[Named, ...]:
        folder = self.root / checked(prefix)
        with _told(prefix):
            names = sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.exists() else []
        found = [(name, self.read_versioned(f"{prefix}/{name}")) for name in names if not name.startswith(".")]
        return tuple(Named(name, read.text) for name, read in found if read is not None)

    def _replace(self, path: Path, data: bytes, present: os.stat_result | None) -> str:
        writing = path.with_name(WRITING)
        try:
            version = self._write(writing, data, present)
            self.reached("replace")
            os.replace(writing, path)
        except OSError:
            with suppress(OSError):
                writing.unlink()
            raise
        try:
            self.reached("sync folder")
            _sync_folder(path.parent)
        except OSError as error:
            raise OutcomeUnknown(f"{path.name} is replaced, but a crash could undo it: {error}") from error
        return version

    def _write(self, writing: Path, data: bytes, present: os.stat_result | None) -> str:
        self.reached("open")
        descriptor = os.open(writing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        try:
            self.reached("write")
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            self.reached("stamp")
            _stamp(descriptor, present)
            self.reached("sync")
            os.fsync(descriptor)
            return _version(os.fstat(descriptor))
        finally:
            os.close(descriptor)


def _stamp(descriptor: int, present: os.stat_result | None) -> None:
    """Clocks of file systems tick in milliseconds and inodes are used again: only a time that always rises tells
    two writes of one length apart.
    """
    written = os.fstat(descriptor).st_mtime_ns
    rising = max(written, present.st_mtime_ns + 1 if present else 0)
    os.utime(descriptor, ns=(rising, rising))


def _version(found: os.stat_result) -> str:
    return f"{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _read(path: Path) -> Versioned | None:
    """Text and version of one file, whatever takes its name meanwhile."""
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            return Versioned(decoded(file.read()), _version(found))
    except FileNotFoundError:
        return None


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(root: Path, within_s: float) -> Iterator[None]:
    """One writer at a time, of all processes and threads: each opens the lock file anew."""
    descriptor = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        deadline = time.monotonic() + within_s
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise StorageError(f"{root / LOCK}: another process has held the lock for {within_s:g} s")
            time.sleep(POLL_S)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{name}: {error}") from error
