"""How does the config service keep what it acknowledged (§3, §9), whoever else writes and wherever it ends?

One compare-and-swap of `head`, which holds the whole write, is its commit: before it there is nothing of the write,
after it the write is kept, and a second writer's swap fails. `settle` brings the model file and the epoch file, which
the published service reads, up to the head; so does whoever commits next or loads a store where that was not done.
Everything here blocks and runs off the loop. What the texts mean is `sie.config.core`'s.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from threading import Lock

import attrs

from sie.config.core.catalog import Document
from sie.config.core.head import (
    EPOCH,
    HEAD,
    MODELS,
    Head,
    documents_of,
    file_name,
    head_text,
    model_epoch,
    model_file,
    model_text,
    problem_of,
    read_epoch,
    read_head,
)
from sie.config.core.write import Change
from sie.domain.ids import ModelId
from sie.storage.backend import Backend, OutcomeUnknown, StorageError, VersionConflict

log = logging.getLogger(__name__)

LOADS = 5  # whole reads of the store that other writers' commits may spoil, before a load gives up
TRIES = 3  # of one object that another writer settles at the same time


@attrs.frozen
class Epoch:
    """`trusted` is False where the stored counter is no number; `value` is then 0."""

    value: int = 0
    trusted: bool = True


@attrs.frozen
class Stored:
    """The store between two writes."""

    epoch: Epoch
    models: tuple[Document, ...]


class EpochFenced(StorageError):
    """Another writer moved the store on since it was loaded: nothing of this write is in it. Load, then write again."""


@attrs.frozen
class _At:
    """`is_ours`: we swapped it in, so it is durable. What another left could still be undone by a power cut."""

    head: Head
    version: str
    is_ours: bool


@attrs.frozen
class _Held:
    """The head that we write after. `epoch` is the store's: above the head's where the published service wrote."""

    at: _At | None
    epoch: int
    settled: bool


@attrs.define
class ConfigStore:
    """`writer` names one run of one process. Calls take turns: one given up in its thread ends before the next."""

    backend: Backend
    writer: str = attrs.field(factory=lambda: token_hex(8))
    _held: _Held | None = attrs.field(default=None, init=False)
    _refusal: Callable[[], StorageError] | None = attrs.field(default=None, init=False)
    _stamps: int = attrs.field(default=0, init=False)
    _turn: Lock = attrs.field(factory=Lock, init=False)

    def load(self) -> Stored:
        """Finish what was committed and not written out, read everything, and write after this head from now on.

        Raises StorageError where the store cannot be read: to serve without it would roll back.
        """
        with self._turn:
            for _ in range(LOADS):
                stored = self._load_once()
                if stored is not None:
                    return stored
            raise StorageError(f"{HEAD}: other writers moved it each of the {LOADS} times that the store was read")

    def commit(self, change: Change) -> int:
        """The write's epoch, once it cannot be lost; `settle` is then due.

        Raises EpochFenced, or OutcomeUnknown, after both of which every commit is refused until `load` was run; or else
        another StorageError. Nothing of the write is in the store then, but for OutcomeUnknown.
        """
        with self._turn:
            held = self._usable()
            if problem := problem_of(change, held.epoch):
                raise StorageError(problem)
            held = self._settle(held)
            stamp = self._stamp()
            at = self._swap_head(Head(held.epoch + 1, stamp, stamp, change), held)
            self._held = _Held(at, at.head.epoch, settled=False)
            return at.head.epoch

    def settle(self) -> None:
        """Bring the model file and the epoch file up to the head. Raises StorageError; the write stays committed."""
        with self._turn:
            self._settle(self._usable())

    def read_model(self, model_id: ModelId) -> str | None:
        """The document as the last commit left it. Raises StorageError."""
        with self._turn:
            held = self._held
            if held and held.at and not held.settled and held.at.head.write.model_id == model_id:
                return held.at.head.write.text
            found = self.backend.read_versioned(f"{MODELS}/{file_name(model_id)}")
            return model_text(found.text) if found else None

    def _load_once(self) -> Stored | None:
        """None where another writer's commit fell into it."""
        at = self._read_head()
        settled = at is None or not self._is_behind(at)
        if at and not settled:
            try:
                at = self._seal(at)
                self._write_out(at)
                settled = True
            except VersionConflict:
                return None
            except StorageError as error:  # a full disk is no reason to serve nothing: the head has what the files lack
                log.error("a committed write is not in its files yet", extra={"error": str(error)})
        files = self.backend.read_folder(MODELS)
        counter = self.backend.read_versioned(EPOCH)
        if self._head_version() != (at.version if at else None):
            return None
        pending = at.head if at and not settled else None
        epoch = Epoch(pending.epoch) if pending else _told_epoch(counter.text if counter else None)
        evidence = (epoch.value, at.head.epoch if at else 0, *(model_epoch(file.text) for file in files))
        stored = Stored(epoch, documents_of(((file.name, file.text) for file in files), pending))
        self._held = _Held(at, max(evidence), settled)
        self._refusal = None
        return stored

    def _usable(self) -> _Held:
        if self._refusal is not None:
            raise self._refusal()
        if self._held is None:
            raise StorageError("the store was not loaded")
        return self._held

    def _stamp(self) -> str:
        self._stamps += 1
        return f"{self.writer}.{self._stamps}"

    def _swap_head(self, head: Head, held: _Held) -> _At:
        try:
            version = self.backend.compare_and_swap(HEAD, head_text(head), held.at.version if held.at else None)
            return _At(head, version, is_ours=True)
        except VersionConflict as error:
            raise self._fenced(error) from error
        except OutcomeUnknown as error:
            return self._find_out(head, held, error)

    def _find_out(self, head: Head, held: _Held, cause: OutcomeUnknown) -> _At:
        """`head`, if it was committed after all. Raises StorageError if it was not and cannot be any more."""
        now = self._sealed(head, held)
        if now is None or now.head.epoch > head.epoch:  # in the second case ours may lie under it
            self._refusal = partial(StorageError, f"{HEAD}: the store must be loaded again after: {cause}")
            raise OutcomeUnknown(f"epoch {head.epoch} may have been written: {cause}") from cause
        if now.head.is_write_of(head):
            return now
        if held.at is None or not now.head.is_write_of(held.at.head):
            raise self._fenced(cause) from cause
        self._held = attrs.evolve(held, at=now)
        raise StorageError(f"epoch {head.epoch} was not written: {cause}") from cause

    def _sealed(self, head: Head, held: _Held) -> _At | None:
        """The present head, so that `head` neither lands nor vanishes any more; None where that cannot be reached.

        Having read it is not enough, either way: a swap that is still under way could land later, and a rename that was
        seen could be undone. A swap of our own from what was read, with another stamp, rules both out; another writer's
        head has done so.
        """
        try:
            for _ in range(TRIES):
                now = self._read_head()
                if now is None:
                    return None
                if not now.head.is_write_of(head) and (held.at is None or now.version != held.at.version):
                    return now
                with suppress(VersionConflict):
                    return self._seal(now)
        except StorageError as error:
            log.error("the head cannot be read or sealed", extra={"error": str(error)})
        return None

    def _fenced(self, cause: StorageError) -> StorageError:
        self._refusal = partial(EpochFenced, f"the store was moved on by another writer: {cause}")
        return self._refusal()

    def _settle(self, held: _Held) -> _Held:
        at = held.at
        if held.settled or at is None:
            return held
        with suppress(VersionConflict):  # its mover has all the cares now, and fences our next commit
            if not at.is_ours:
                at = self._seal(at)
                self._held = held = attrs.evolve(held, at=at)
            self._write_out(at)
        self._held = attrs.evolve(held, settled=True)
        return self._held

    def _write_out(self, at: _At) -> None:
        """The model first: an epoch file that is up to the head says that all is."""
        self._bring(f"{MODELS}/{file_name(at.head.write.model_id)}", model_file(at.head.write, at.head.epoch), at)
        if self._is_behind(at):
            self._bring(EPOCH, str(at.head.epoch), at)

    def _seal(self, at: _At) -> _At:
        """The same write, swapped in again by us. Raises VersionConflict where the head has moved on."""
        sealed = attrs.evolve(at.head, stamp=self._stamp())
        try:
            return _At(sealed, self.backend.compare_and_swap(HEAD, head_text(sealed), at.version), is_ours=True)
        except OutcomeUnknown as error:
            raise StorageError(str(error)) from error  # of no commit

    def _bring(self, name: str, text: str, at: _At) -> None:
        """Write `text` unless the head has moved on. The head is looked at after the object's version was read: whoever
        moves it later wrote the object out before, and so our swap fails. A text that is there already is written
        again, because the one who wrote it may have died before it was durable.
        """
        for _ in range(TRIES):
            found = self.backend.read_versioned(name)
            if self._head_version() != at.version:
                return
            try:
                self.backend.compare_and_swap(name, text, found.version if found else None)
            except VersionConflict:
                continue
            except OutcomeUnknown as error:  # it is of no commit, and trying again settles it
                raise StorageError(str(error)) from error
            return
        raise StorageError(f"{name}: others changed it each of the {TRIES} times that it was to be written")

    def _read_head(self) -> _At | None:
        found = self.backend.read_versioned(HEAD)
        return _At(read_head(found.text), found.version, is_ours=False) if found else None

    def _head_version(self) -> str | None:
        found = self.backend.read_versioned(HEAD)
        return found.version if found else None

    def _is_behind(self, at: _At) -> bool:
        """Whether the epoch file tells less than the head, or nothing."""
        found = self.backend.read_versioned(EPOCH)
        counter = read_epoch(found.text) if found else None
        return counter is None or counter < at.head.epoch


def _told_epoch(text: str | None) -> Epoch:
    value = 0 if text is None else read_epoch(text)
    if value is None:
        log.error("the epoch file holds no number", extra={"content": (text or "")[:80]})
        return Epoch(0, trusted=False)
    return Epoch(value)


def read_folder(folder: str) -> tuple[Document, ...]:
    """Every `*.yaml` directly in the folder, by name; a file that cannot be read is logged and left out."""
    documents = []
    for path in sorted(Path(folder).glob("*.yaml")):
        try:
            documents.append(Document(str(path), path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            log.error("a configuration file cannot be read", extra={"file": str(path), "error": str(error)})
    return tuple(documents)


def default_bundles_dir() -> str:
    """The folder that came with the installation: inside the package, or the repository's own in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "bundles"
    return str(inside if inside.is_dir() else package.parents[1] / "bundles")
