"""How does a gateway hear of every pool in the broker's bucket (§16.3)? By a watch, begun anew now and then.

A watch tells what is there and then each change, in the bucket's order, and may die without a word; so it is begun anew
once it is silent, with each session of the bus, when a call found something odd, and after a while in any case. All
that is heard, read or written here goes through the revisions: the listener hears each key's newest word once.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NoReturn

import attrs
import trio

from sie.bus.api import BusError, ReplyTimeout
from sie.bus.jetstream_api import Ensured
from sie.bus.key_value import KeyValue, Watch, WrongRevision
from sie.bus.key_value_api import HEARTBEAT_S, BucketState, Entry
from sie.gateway.core.pool_documents import write_pool_text
from sie.gateway.core.pool_revisions import NOWHERE, Change, Gone, Kept, PoolRevisions, Spoiled
from sie.gateway.pools.api import PoolListener

log = logging.getLogger(__name__)

RELIST_S = 30.0
"""Between two listings, give or take a half."""
SILENT_S = 2.5 * HEARTBEAT_S
"""A watch that says nothing for so long has died."""
LIST_S = 5.0
"""For all of the bucket to come."""
PAUSE_S = 1.0
"""After the broker could not be asked, give or take a half."""


@attrs.define(eq=False)
class Following:
    """`luck` draws from [0, 1). `listed` is set once everything was heard."""

    kv: KeyValue
    listener: PoolListener
    luck: Callable[[], float]
    relist_s: float = RELIST_S
    revisions: PoolRevisions = attrs.field(factory=PoolRevisions, init=False)
    listed: trio.Event = attrs.field(factory=trio.Event, init=False)
    markers_fade: bool = attrs.field(default=False, init=False)
    _wake: trio.Event = attrs.field(factory=trio.Event, init=False)
    _session: int = attrs.field(default=0, init=False)
    _trouble: str | None = attrs.field(default=None, init=False)

    def hear(self, entry: Entry) -> None:
        change = self.revisions.receive(entry)
        if change is not None:
            self._tell(change)

    def look_again(self) -> None:
        """Something is odd: begin anew now."""
        self._wake.set()

    async def follow_forever(self) -> NoReturn:
        while True:
            self._session = await self.kv.bus.wait_session()
            self._wake = trio.Event()
            try:
                await self._follow_once()
            except BusError as error:
                self._say(str(error))
                await trio.sleep(PAUSE_S * (0.5 + self.luck()))

    async def watch_sessions_forever(self) -> NoReturn:
        session = 0
        while True:
            session = await self.kv.bus.wait_session(newer_than=session)
            if session > self._session:
                self.look_again()

    async def _follow_once(self) -> None:
        state = await self._look()
        await self._put_lost_again()
        keys = set[str]()

        def hear(entry: Entry) -> None:
            keys.add(entry.key)
            self.hear(entry)

        async with self.kv.watching(hear) as watch:
            await self._wait_listed(watch)
            self._tell_all(self.revisions.listed(frozenset(keys), state.last_revision))
            self.listed.set()
            self._say(None)
            await self._wait_over(watch)

    async def _look(self) -> BucketState:
        """A bucket that was not seen before is ensured, as work streams are (§8.2)."""
        newest = self.revisions.newest
        state = await self.kv.look()
        if state is None or state.created != self.revisions.bucket:
            self._say_ensured(await self.kv.ensure())
            state = await self.kv.look()
        if state is None:
            raise BusError(f"the bucket {self.kv.bucket} went away as it was made")
        self.markers_fade = state.markers_fade
        if self.revisions.adopt(state, newest):
            log.error("the bucket of pools was lost", extra={"bucket": self.kv.bucket, "put_again": self._names()})
        return state

    async def _put_lost_again(self) -> None:
        """Where no other gateway was quicker: then the listing tells what it put there."""
        for pool in self.revisions.lost:
            value = write_pool_text(pool)
            with suppress(WrongRevision):
                revision = await self.kv.put(pool.spec.name, value, over=NOWHERE)
                self.hear(Entry(pool.spec.name, revision, value))

    async def _wait_listed(self, watch: Watch) -> None:
        with trio.move_on_after(LIST_S):
            await watch.listed.wait()
        if not watch.listed.is_set():
            raise ReplyTimeout(f"the bucket {self.kv.bucket} was not told within {LIST_S} s")

    async def _wait_over(self, watch: Watch) -> None:
        due = trio.current_time() + self.relist_s * (0.5 + self.luck())
        while not self._wake.is_set() and trio.current_time() < (at := min(due, watch.heard_at + SILENT_S)):
            with trio.move_on_at(at):
                await self._wake.wait()

    def _tell_all(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self._tell(change)

    def _tell(self, change: Change) -> None:
        match change:
            case Kept(pool):
                self.listener.kept(pool)
            case Gone(name):
                self.listener.gone(name)
            case Spoiled(key, name, why, is_news):
                if name is not None:
                    self.listener.gone(name)
                if is_news:
                    log.error("what should be a pool is none, and is skipped", extra={"object": key, "why": why})

    def _say(self, trouble: str | None) -> None:
        """Each trouble once, and its end."""
        if trouble is not None and trouble != self._trouble:
            log.warning("pools are not followed", extra={"bucket": self.kv.bucket, "error": trouble})
        elif trouble is None and self._trouble is not None:
            log.info("pools are followed again", extra={"bucket": self.kv.bucket})
        self._trouble = trouble

    def _say_ensured(self, ensured: Ensured) -> None:
        log.info("the bucket of pools is ensured", extra={"stream": ensured.name, "action": ensured.action})
        for mismatch in ensured.mismatches:
            log.warning("the bucket of pools differs and is left alone", extra=attrs.asdict(mismatch))

    def _names(self) -> list[str]:
        return [pool.spec.name for pool in self.revisions.lost]
