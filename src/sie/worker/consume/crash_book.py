"""The counts of what crashed, where the next worker on this machine finds them: a small file for each (`core.crashes`).

Several workers may share the folder. A file that cannot be read or written costs a count, not a worker.
"""

import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

import attrs

from sie.runtime.world import RunInThread
from sie.worker.core.crashes import Crash, Crashes, crash_name, decode_crash, encode_crash, once_more, overdue
from sie.worker.core.held_work import Held, Key

log = logging.getLogger(__name__)


class CrashStore(Protocol):
    """Blocks. Raises OSError."""

    def read(self, *, now_s: float) -> Mapping[str, Crash]:
        """What is not too old; the rest goes."""
        ...

    def add(self, names: Iterable[str], *, now_s: float) -> Mapping[str, Crash]:
        """One more for each."""
        ...

    def remove(self, names: Iterable[str]) -> None: ...


@attrs.frozen
class CrashMemory:
    """For a worker that shall leave nothing behind."""

    kept: dict[str, Crash] = attrs.field(factory=dict)

    def read(self, *, now_s: float) -> Mapping[str, Crash]:
        self.remove(overdue(self.kept, now_s=now_s))
        return dict(self.kept)

    def add(self, names: Iterable[str], *, now_s: float) -> Mapping[str, Crash]:
        added = {name: once_more(self.kept.get(name), now_s=now_s) for name in names}
        self.kept.update(added)
        return added

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            self.kept.pop(name, None)


@attrs.frozen
class CrashFiles:
    folder: Path

    def read(self, *, now_s: float) -> Mapping[str, Crash]:
        if not self.folder.is_dir():
            return {}
        found = {path.name: self._read_one(path.name) for path in self.folder.iterdir()}
        kept = {name: crash for name, crash in found.items() if crash is not None}
        gone = {*found} - {*kept} | {*overdue(kept, now_s=now_s)}
        self.remove(gone)
        return {name: crash for name, crash in kept.items() if name not in gone}

    def add(self, names: Iterable[str], *, now_s: float) -> Mapping[str, Crash]:
        self.folder.mkdir(parents=True, exist_ok=True)
        added = {name: once_more(self._read_one(name), now_s=now_s) for name in names}
        for name, crash in added.items():
            self._write(name, encode_crash(crash))
        return added

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    def _read_one(self, name: str) -> Crash | None:
        try:
            return decode_crash((self.folder / name).read_text(encoding="utf-8"))
        except (FileNotFoundError, UnicodeDecodeError):
            return None

    def _write(self, name: str, text: str) -> None:
        """It outlives the process, not the machine: that would need a sync for each."""
        handle, path = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path, self.folder / name)


@attrs.frozen
class CrashBook:
    store: CrashStore
    run_in_thread: RunInThread
    unix_s: Callable[[], float]
    crashes: Crashes = attrs.field(factory=Crashes)

    async def read(self) -> None:
        try:
            self.crashes.learn(await self.run_in_thread(partial(self.store.read, now_s=self.unix_s())))
        except OSError as error:
            _warn(error)

    def is_suspect(self, held: Held) -> bool:
        return self.crashes.count(held.key) > 0

    async def record(self, keys: Iterable[Key]) -> None:
        """Each has one more."""
        now_s, names = self.unix_s(), tuple(map(crash_name, keys))
        try:
            added = await self.run_in_thread(partial(self.store.add, names, now_s=now_s))
        except OSError as error:
            _warn(error)
            added = {name: once_more(self.crashes.find(name), now_s=now_s) for name in names}
        self.crashes.learn(added)
        await self._remove(self.crashes.take_overdue(now_s=now_s))

    async def forget(self, key: Key) -> None:
        await self._remove(self.crashes.forget([crash_name(key)]))

    async def _remove(self, names: tuple[str, ...]) -> None:
        if not names:
            return
        try:
            await self.run_in_thread(partial(self.store.remove, names))
        except OSError as error:
            _warn(error)


def _warn(error: OSError) -> None:
    log.warning("what inputs have crashed cannot be kept", extra={"error": str(error)})
