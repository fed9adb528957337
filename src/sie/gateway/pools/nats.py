"""Where are pools kept when gateways share a broker alone (§16.3, decisions)? In a key-value bucket; all watch it.

A change is a compare-and-swap on the revision that was read, and is told to the listener with the revision that it
made. While the broker is away what is known stays, and a change raises StoreAway.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

import attrs
import trio

from sie.bus.api import BusError
from sie.bus.jetstream import API_TIMEOUT_S
from sie.bus.key_value import KeyValue, WrongRevision
from sie.bus.key_value_api import Entry
from sie.domain.ids import PoolName
from sie.domain.pool import Pool, PoolSpec, asked_for
from sie.gateway.core.pool_documents import write_pool_text
from sie.gateway.core.pool_keys import pool_in
from sie.gateway.core.pool_revisions import NOWHERE, is_behind
from sie.gateway.pools.api import PoolListener, StoreAway
from sie.gateway.pools.nats_following import RELIST_S, Following
from sie.runtime.service import running

log = logging.getLogger(__name__)

T = TypeVar("T")

ATTEMPTS = 10
"""Of one change, when others are quicker."""
FIRST_WAIT_S, CAP_S = 0.01, 0.5
FIRST_LISTING_S = 5.0
"""A gateway that starts waits so long at most to know its pools; without a broker it starts without them."""
MARKER_S = 3600
"""Until a deleted pool's marker goes, so that names used once do not add up. Who was away meanwhile lists anew."""
EXPIRE_S = 2.0
"""For ending one lease that is over: whoever looks after the pools has more to do."""
QUIET_S = 10.0
"""After that did not work none is ended."""


@attrs.define(eq=False)
class NatsPools:
    """`luck` draws from [0, 1)."""

    kv: KeyValue
    following: Following
    luck: Callable[[], float]
    _quiet_until: float = attrs.field(default=float("-inf"), init=False)

    async def put(self, spec: PoolSpec, now_s: float) -> Pool:
        """Nonsense is written over."""

        async def once() -> Pool:
            entry = await self._read(spec.name)
            return await self._keep(entry, asked_for(pool_in(entry), spec, now_s))

        return await self._swapped(once)

    async def renew(self, name: PoolName, now_s: float) -> Pool | None:
        async def once() -> Pool | None:
            entry = await self._read(name)
            before = pool_in(entry)
            return None if before is None else await self._keep(entry, before.renewed(now_s))

        return await self._swapped(once)

    async def delete(self, name: PoolName) -> bool:
        async def once() -> bool:
            entry = await self._read(name)
            if entry is None or pool_in(entry) is None:
                return False
            await self._drop(name, entry.revision)
            return True

        return await self._swapped(once)

    async def expire(self, seen: Pool) -> bool:
        """By what was heard: only that very revision is removed. Never raises; who is away is asked later."""
        name = seen.spec.name
        known = self.following.revisions.known(name)
        if known is None or known.pool != seen or known.revision == NOWHERE:
            return False
        if trio.current_time() < self._quiet_until:
            return False
        try:
            await self._drop(name, known.revision, timeout_s=EXPIRE_S)
        except WrongRevision:
            return False
        except (BusError, StoreAway) as error:
            self._be_quiet(str(error))
            return False
        return True

    async def _swapped(self, once: Callable[[], Awaitable[T]]) -> T:
        """`once` reads, decides and writes."""
        try:
            for attempt in range(ATTEMPTS):
                if attempt:
                    await trio.sleep(min(CAP_S, FIRST_WAIT_S * 2**attempt) * self.luck())
                with suppress(WrongRevision):
                    return await once()
        except BusError as error:
            self.following.look_again()
            raise StoreAway(str(error)) from error
        raise StoreAway(f"others were quicker {ATTEMPTS} times")

    async def _read(self, name: PoolName) -> Entry | None:
        """What is there, of which the listener is told what it did not know."""
        known = self.following.revisions.known(name)
        with self._same_bucket():
            entry = await self.kv.get(name)
        if is_behind(known, entry):
            self.following.look_again()
            raise StoreAway(f"the bucket {self.kv.bucket} does not have what it had of the pool {name!r}")
        if entry is not None:
            self.following.hear(entry)
        return entry

    async def _keep(self, before: Entry | None, pool: Pool) -> Pool:
        if pool != pool_in(before):
            name, value = pool.spec.name, write_pool_text(pool)
            over = NOWHERE if before is None else before.revision
            with self._same_bucket():
                revision = await self.kv.put(name, value, over=over)
            self.following.hear(Entry(name, revision, value))
        return pool

    async def _drop(self, name: PoolName, over: int, *, timeout_s: float = API_TIMEOUT_S) -> None:
        fades_s = MARKER_S if self.following.markers_fade else None
        with self._same_bucket():
            revision = await self.kv.delete(name, over=over, fades_s=fades_s, timeout_s=timeout_s)
        self.following.hear(Entry(name, revision, None))

    @contextmanager
    def _same_bucket(self) -> Iterator[None]:
        """A revision of a bucket that was lost meanwhile must not be taken for one of its successor."""
        before = self.following.revisions.generation
        yield
        if self.following.revisions.generation != before:
            raise StoreAway(f"the bucket {self.kv.bucket} was lost while it was asked")

    def _be_quiet(self, why: str) -> None:
        self._quiet_until = trio.current_time() + QUIET_S
        log.warning("pools that are over cannot be removed", extra={"error": why, "again_in_s": QUIET_S})


@asynccontextmanager
async def open_nats_pools(
    kv: KeyValue, listener: PoolListener, *, luck: Callable[[], float], relist_s: float = RELIST_S
) -> AsyncIterator[NatsPools]:
    following = Following(kv, listener, luck, relist_s)
    async with running(following.follow_forever, following.watch_sessions_forever):
        with trio.move_on_after(FIRST_LISTING_S):
            await following.listed.wait()
        if not following.listed.is_set():
            log.error("pools are not known yet: the broker does not tell its bucket", extra={"bucket": kv.bucket})
        yield NatsPools(kv, following, luck)
