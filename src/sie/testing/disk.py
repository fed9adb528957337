"""How does a store fare on a disk that fails? A Backend in memory that outlives the processes which use it.

Each process mounts it. How each of a mount's next calls goes is the caller's to say, one word a call, so that a run
comes again; what a disk does by itself (fills up, loses power, lets a late swap land) is done to the double.
"""

from collections import deque
from collections.abc import Callable, Mapping
from hashlib import md5
from typing import Literal

import attrs

from sie.storage.backend import Named, OutcomeUnknown, StorageError, VersionConflict, Versioned, checked, encoded

How = Literal["well", "refused", "answer lost", "late", "never", "unsynced", "dies before", "dies after"]
"""`refused`: nothing is done. The next four end in OutcomeUnknown: the swap is done; it waits for `land`; it never will
be; it is done but a power cut undoes it, as also after `dies after`. A read knows only good, bad and dying.
"""


class Died(BaseException):
    """The process is gone: what it was doing is neither answered nor cleaned up. No Exception: nobody handles it."""


@attrs.frozen
class _Swap:
    name: str
    text: str
    version: str | None


def _went_well() -> How:
    return "well"


@attrs.define
class DiskDouble:
    """`digests`: versions come again with the text, as S3's do; else each is new. `changes` are all there ever were."""

    digests: bool = False
    full: bool = False
    changes: list[Named] = attrs.field(factory=list)
    _objects: dict[str, Versioned] = attrs.field(factory=dict)
    _late: list[_Swap] = attrs.field(factory=list)
    _unsynced: dict[str, Versioned | None] = attrs.field(factory=dict)
    _versions: int = 0

    @property
    def texts(self) -> Mapping[str, str]:
        return {name: found.text for name, found in self._objects.items()}

    @property
    def late(self) -> int:
        return len(self._late)

    def mount(self, next_call: Callable[[], How] = _went_well) -> "Mount":
        """`next_call` is asked before each call how it shall go."""
        return Mount(self, next_call)

    def land(self, number: int = 0) -> None:
        """A swap whose caller has given up reaches the disk; it is done if its version still fits."""
        late = self._late.pop(number)
        try:
            self.swap(late)
        except StorageError:  # there is nobody left to be told
            return

    def lose_power(self) -> None:
        """What was not synced is as before. Whoever had mounted the disk is dead: that part is the caller's."""
        for name, before in self._unsynced.items():
            if before is None:
                del self._objects[name]
            else:
                self._objects[name] = before
            self.changes.append(Named(name, before.text if before else ""))
        self._unsynced.clear()
        self._late.clear()

    def put(self, name: str, text: str) -> None:
        """As another program writes, that knows nothing of versions; also how an object is torn."""
        self._put(checked(name), text)

    def restore(self, texts: Mapping[str, str]) -> None:
        """The whole disk becomes a copy that was made of it, or an empty one; every version is new."""
        self._objects.clear()
        self._unsynced.clear()
        self._late.clear()
        for name, text in texts.items():
            self._put(checked(name), text)

    def read(self, name: str) -> Versioned | None:
        return self._objects.get(checked(name))

    def swap(self, swap: _Swap, *, synced: bool = True) -> str:
        present = self._objects.get(swap.name)
        if (present.version if present else None) != swap.version:
            raise VersionConflict(f"{swap.name}: another writer changed it")
        if self.full:
            raise StorageError(f"{swap.name}: no space is left")
        folder = swap.name.rpartition("/")[0]
        if synced:  # a folder is synced whole, with the renames that were left
            for name in [name for name in self._unsynced if name.rpartition("/")[0] == folder]:
                del self._unsynced[name]
        else:
            self._unsynced.setdefault(swap.name, present)
        return self._put(swap.name, swap.text)

    def hold_back(self, swap: _Swap) -> None:
        self._late.append(swap)

    def _put(self, name: str, text: str) -> str:
        self._versions += 1
        digest = md5(text.encode(), usedforsecurity=False).hexdigest()
        self._objects[name] = Versioned(text, digest if self.digests else str(self._versions))
        self.changes.append(Named(name, text))
        return self._objects[name].version


@attrs.frozen
class Mount:
    """One process's Backend."""

    disk: DiskDouble
    next_call: Callable[[], How]

    def read_versioned(self, name: str) -> Versioned | None:
        self._read_goes(name)
        return self.disk.read(name)

    def read_folder(self, prefix: str) -> tuple[Named, ...]:
        self._read_goes(prefix)
        start = f"{checked(prefix)}/"
        inside = {name.removeprefix(start): text for name, text in self.disk.texts.items() if name.startswith(start)}
        return tuple(Named(name, text) for name, text in sorted(inside.items()) if "/" not in name)

    def compare_and_swap(self, name: str, text: str, version: str | None) -> str:
        encoded(name, text)
        swap = _Swap(checked(name), text, version)
        match self.next_call():
            case "well":
                return self.disk.swap(swap)
            case "refused":
                raise StorageError(f"{name}: the disk refuses")
            case "dies before":
                raise Died
            case "dies after":
                self.disk.swap(swap, synced=False)
                raise Died
            case "answer lost":
                self.disk.swap(swap)
            case "unsynced":
                self.disk.swap(swap, synced=False)
            case "late":
                self.disk.hold_back(swap)
            case "never":
                pass
        raise OutcomeUnknown(f"{name}: no answer")

    def _read_goes(self, name: str) -> None:
        match self.next_call():
            case "well":
                pass
            case "dies before" | "dies after":
                raise Died
            case _:
                raise StorageError(f"{name}: the disk does not answer")


def in_turn(calls: deque[How]) -> Callable[[], How]:
    """The next calls as listed, and well when the list is used up; the caller may go on appending."""
    return lambda: calls.popleft() if calls else "well"
