"""What a config service must not do: each function stands in for a right one while a mutant is on."""

import trio

from sie.config.core.head import EPOCH, HEAD, Head, head_text
from sie.config.core.idempotency import Flight, Idempotency
from sie.config.core.write import WritePlan
from sie.config.state import Held
from sie.config.store import ConfigStore, Stored, _At, _Held
from sie.config.writer import Writer, Written
from sie.storage.backend import OutcomeUnknown, StorageError, VersionConflict
from sie.web.routes import Reply

RIGHT_COMMIT = Writer._commit
RIGHT_PERSIST = Writer._persist
RIGHT_SWAP_HEAD = ConfigStore._swap_head
RIGHT_LOAD = ConfigStore._load_once
RIGHT_BEHIND = ConfigStore._is_behind
RIGHT_END = Idempotency.end


async def installs_first(self: Writer, plan: WritePlan) -> Written:
    self.state.install(Held(plan.catalog, self.state.epoch + 1))
    return await RIGHT_COMMIT(self, plan)


async def tells_first(self: Writer, plan: WritePlan) -> Written:
    await self._tell(plan, self.state.epoch + 1)
    return await RIGHT_COMMIT(self, plan)


async def installs_by_halves(self: Writer, plan: WritePlan) -> Written:
    with trio.CancelScope(shield=True):
        before = self.state.epoch
        epoch = await self._persist(plan)
        self.state.install(Held(plan.catalog, before))
        await self._bump()
        await self._tell(plan, epoch)
        self.state.install(Held(plan.catalog, epoch))
    return Written(plan, epoch, ())


async def acknowledges_anyway(self: Writer, plan: WritePlan) -> int:
    try:
        return await RIGHT_PERSIST(self, plan)
    except StorageError:
        return self.state.epoch + 1


def bumps_first(self: ConfigStore, head: Head, held: _Held) -> _At:
    found = self.backend.read_versioned(EPOCH)
    self.backend.compare_and_swap(EPOCH, str(head.epoch), found.version if found else None)
    return RIGHT_SWAP_HEAD(self, head, held)


def writes_over(self: ConfigStore, head: Head, held: _Held) -> _At:
    try:
        return RIGHT_SWAP_HEAD(self, head, held)
    except VersionConflict:
        pass
    except StorageError as error:
        if not isinstance(error.__cause__, VersionConflict):
            raise
    found = self.backend.read_versioned(HEAD)
    self._refusal = None
    version = self.backend.compare_and_swap(HEAD, head_text(head), found.version if found else None)
    return _At(head, version, is_ours=True)


LOADING: list[ConfigStore] = []
"""Stores that are being read."""


def skips_redo(self: ConfigStore) -> Stored | None:
    LOADING.append(self)
    try:
        return RIGHT_LOAD(self)
    finally:
        LOADING.pop()


def is_never_behind_at_load(self: ConfigStore, at: _At) -> bool:
    return self not in LOADING and RIGHT_BEHIND(self, at)


def guesses_failure(self: ConfigStore, head: Head, held: _Held, cause: OutcomeUnknown) -> _At:
    raise StorageError(f"epoch {head.epoch} was not written: {cause}") from cause


def does_not_seal(self: ConfigStore, at: _At) -> _At:
    return at


def forgets_the_answer(self: Idempotency[Reply], flight: Flight[Reply], answer: Reply | None, **_: bool) -> None:
    RIGHT_END(self, flight, answer, succeeded=False)
