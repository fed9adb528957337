"""The one writer of the cluster (§3): plan, persist, install, bump, publish, one write at a time.

The store's head is the epoch that counts, and from `persist` on it stands at the write. So to bump, which is to bring
the published service's files up to it, and to publish go on at once; the answer waits for both.

A write that is cancelled before it persists has done nothing. From then on it is shielded until its outcome is known:
the store's own timeouts bound the wait for it, and `COMMIT_S` all that follows.
"""

import logging
from collections.abc import Callable
from functools import partial

import attrs
import trio

from sie.config.core.catalog import Catalog
from sie.config.core.notices import notifications, warnings
from sie.config.core.write import Conflicting, Decision, Invalid, Unchanged, WritePlan
from sie.config.publisher import ConfigPublisher, Told
from sie.config.state import ConfigState, Held
from sie.config.store import ConfigStore, EpochFenced
from sie.domain.ids import ModelId
from sie.runtime.world import RunInThread
from sie.storage.backend import OutcomeUnknown, StorageError

log = logging.getLogger(__name__)

COMMIT_S = 30.0

Decide = Callable[[Catalog, str | None], Decision]
"""Given the catalogue and what the store holds of the model."""


@attrs.frozen
class Written:
    """`epoch` is 0 where there is no store."""

    plan: WritePlan
    epoch: int
    warnings: tuple[str, ...]


Answer = Invalid | Conflicting | Unchanged | Written


@attrs.define(eq=False)
class Writer:
    """`_lock` spans the store's calls and the publishing of one write, so that epochs reach the wire in order.

    `reload` reads folders and store again, for when another writer has changed the store. Both blocking parts run off
    the loop. Every write raises StorageError where the store cannot do it, EpochFenced among them; then nothing of it
    is anywhere, unless it is OutcomeUnknown.
    """

    state: ConfigState
    store: ConfigStore | None
    publisher: ConfigPublisher | None
    run_in_thread: RunInThread
    reload: Callable[[], Held]
    _lock: trio.Lock = attrs.field(factory=trio.Lock, init=False)
    _is_behind: bool = attrs.field(default=False, init=False)

    async def write(self, model_id: ModelId, decide: Decide) -> Answer:
        async with self._lock:
            held = await self._present()
            decision = await self.run_in_thread(partial(self._decide, held.catalog, model_id, decide))
            if not isinstance(decision, WritePlan):
                return decision
            await trio.lowlevel.checkpoint_if_cancelled()  # the last moment at which nothing has been done
            return await self._commit(decision)

    def _decide(self, catalog: Catalog, model_id: ModelId, decide: Decide) -> Decision:
        """Blocking."""
        return decide(catalog, self.store.read_model(model_id) if self.store is not None else None)

    async def _commit(self, plan: WritePlan) -> Written:
        epoch: int | None = None
        told = Told(confirmed=False)
        with trio.CancelScope(shield=True, deadline=trio.current_time() + COMMIT_S):
            epoch = await self._persist(plan)
            self.state.install(Held(plan.catalog, epoch))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._bump)
                told = await self._tell(plan, epoch)
        if epoch is None:
            raise StorageError(f"nothing was stored within {COMMIT_S:.0f} s")
        return Written(plan, epoch, warnings(told.failed, confirmed=told.confirmed))

    async def _persist(self, plan: WritePlan) -> int:
        """The one step that makes the write stand: the store's head moves to the next epoch, with the text in it."""
        if self.store is None:
            return 0
        try:
            return await self.run_in_thread(partial(self.store.commit, plan.change))
        except (EpochFenced, OutcomeUnknown):
            self._is_behind = True
            raise

    async def _bump(self) -> None:
        """Bring the model's file and the epoch's up to the head. What fails is done again before the next write."""
        if self.store is None:
            return
        try:
            await self.run_in_thread(self.store.settle)
        except StorageError as error:
            log.error("a committed write is not in its files yet", extra={"error": str(error)})

    async def _tell(self, plan: WritePlan, epoch: int) -> Told:
        if self.publisher is None:
            return Told()
        notices = tuple(notifications(plan, epoch=epoch, producer=self.publisher.producer))
        return await self.publisher.publish(notices) if notices else Told()

    async def _present(self) -> Held:
        """What is served, read again first if another writer has been at the store."""
        if self._is_behind:
            self.state.install(await self.run_in_thread(self.reload))
            self._is_behind = False
        held = self.state.current
        assert held is not None, "writes are admitted once the registry is built"
        return held
