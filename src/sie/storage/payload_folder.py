"""How does the payload store lie on a local disk (§16.2)? One folder, one file a key.

A write goes to a hidden file of its own and is then given its name; nothing is synced, because no payload is worth more
than the broker's message that names it. A sweep takes what a crash left hidden too.
"""

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs

from sie.domain.ids import RouterId
from sie.storage.backend import StorageError
from sie.storage.payloads import check_size, checked_key, is_swept
from sie.wire.payload import MAX_OBJECT_BYTES, PayloadKey

WRITING = ".writing"
FILE_MODE = 0o640
FOLDER_MODE = 0o750


@attrs.frozen
class FolderPayloads:
    root: Path

    def put(self, key: PayloadKey, data: bytes) -> None:
        check_size(key, len(data))
        path = self.root / checked_key(key)
        writing = path.with_name(f".{key}.{secrets.token_hex(8)}{WRITING}")
        with _told(key):
            self.root.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            try:
                _write(writing, data)
                os.replace(writing, path)
            except OSError:
                with suppress(OSError):
                    writing.unlink()
                raise

    def get(self, key: PayloadKey, *, max_bytes: int = MAX_OBJECT_BYTES) -> bytes | None:
        with _told(key):
            try:
                return _read(self.root / checked_key(key), key, max_bytes)
            except FileNotFoundError:
                return None

    def delete(self, keys: Iterable[PayloadKey]) -> None:
        refused: list[str] = []
        for key in keys:
            try:
                (self.root / checked_key(key)).unlink(missing_ok=True)
            except OSError as error:
                refused.append(f"{key}: {error}")
        if refused:
            raise StorageError(f"{len(refused)} payload(s) could not be deleted, the first is {refused[0]}")

    def sweep(self, *, before_unix_s: float, router: RouterId | None = None) -> int:
        with _told(str(self.root)):
            swept = 0
            for entry in self._entries():
                name = _named_for(entry.name)
                with suppress(FileNotFoundError):  # another gateway sweeps too
                    put_unix_s = entry.stat(follow_symlinks=False).st_mtime
                    if is_swept(name, put_unix_s, before_unix_s=before_unix_s, router=router):
                        os.unlink(entry)
                        swept += 1
            return swept

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        with suppress(FileNotFoundError), os.scandir(self.root) as entries:
            yield from (entry for entry in entries if entry.is_file(follow_symlinks=False))


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    with open(descriptor, "wb") as file:
        file.write(data)


def _read(path: Path, key: PayloadKey, max_bytes: int) -> bytes:
    """Of a file alone: a link leads elsewhere, and what is no file may never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is not a file")
        check_size(key, found.st_size, max_bytes)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _named_for(name: str) -> str:
    """The key that a hidden file was to become, or the name itself."""
    if name.startswith(".") and name.endswith(WRITING):
        return name[1:].removesuffix(WRITING).rpartition(".")[0]
    return name


@contextmanager
def _told(key: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"payload {key}: {error}") from error
