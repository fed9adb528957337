"""Which word on a bucket of pools is new (§16.3)? A key's revisions only grow, so what is older is dropped.

A bucket may be lost with the broker's disk. Another in its place is empty, or behind; what was known of the lost one
is put there again: a pool is a lease that its tenant was promised, and whoever wants it gone deletes it. Sans-IO.
"""

import attrs

from sie.bus.key_value_api import BucketState, Entry
from sie.domain.ids import PoolName
from sie.domain.pool import Pool
from sie.gateway.core.pool_documents import Nonsense
from sie.gateway.core.pool_keys import pool_of_key, read_entry

NOWHERE = 0
"""The revision of a pool that is in no bucket now."""


@attrs.frozen
class Kept:
    pool: Pool


@attrs.frozen
class Gone:
    name: PoolName


@attrs.frozen
class Spoiled:
    """What should be a pool is none. `name` None: nor does its key name one. `is_news`: this was not said yet."""

    key: str
    name: PoolName | None
    why: str
    is_news: bool


Change = Kept | Gone | Spoiled


@attrs.frozen
class Known:
    """`pool` None: deleted, or nonsense."""

    revision: int
    pool: Pool | None


def is_behind(known: Known | None, entry: Entry | None) -> bool:
    """Whether what was read is older than what was known before it was asked for: the bucket is not the one it was."""
    if known is None:
        return False
    return known.pool is not None if entry is None else entry.revision < known.revision


@attrs.define(eq=False)
class PoolRevisions:
    """`generation` counts the buckets. `_lost` are pools of the last one that this one does not have yet; `_spoiled`
    the keys whose nonsense was said.
    """

    bucket: str | None = attrs.field(default=None, init=False)
    generation: int = attrs.field(default=0, init=False)
    _known: dict[str, Known] = attrs.field(factory=dict, init=False)
    _lost: dict[str, Pool] = attrs.field(factory=dict, init=False)
    _spoiled: set[str] = attrs.field(factory=set, init=False)

    @property
    def newest(self) -> int:
        return max((known.revision for known in self._known.values()), default=NOWHERE)

    @property
    def lost(self) -> tuple[Pool, ...]:
        return tuple(self._lost.values())

    def known(self, key: str) -> Known | None:
        lost = self._lost.get(key)
        return self._known.get(key) if lost is None else Known(NOWHERE, lost)

    def adopt(self, state: BucketState, newest: int) -> bool:
        """The bucket is in this state. `newest` as it was before that was asked. True: it is another than before."""
        is_other = self.bucket not in (None, state.created) or state.last_revision < newest
        self.bucket = state.created
        if is_other:
            self._lost |= {key: known.pool for key, known in self._known.items() if known.pool is not None}
            self._known.clear()
            self._spoiled.clear()
            self.generation += 1
        return is_other

    def receive(self, entry: Entry) -> Change | None:
        """None: nothing that was not known."""
        known = self._known.get(entry.key)
        if known is not None and known.revision >= entry.revision:
            return None
        found = read_entry(entry)
        self._lost.pop(entry.key, None)
        self._known[entry.key] = Known(entry.revision, found if isinstance(found, Pool) else None)
        if isinstance(found, Nonsense):
            return self._spoil(entry.key, found)
        self._spoiled.discard(entry.key)
        return _told(entry.key, found)

    def listed(self, keys: frozenset[str], revision: int) -> tuple[Gone, ...]:
        """All keys of the bucket were heard, which was at `revision` before. What else was known by then was purged."""
        purged = [key for key, known in self._known.items() if key not in keys and known.revision <= revision]
        self._spoiled.difference_update(purged)
        gone = [(key, self._known.pop(key).pool) for key in purged]
        return tuple(Gone(PoolName(key)) for key, pool in gone if pool is not None)

    def _spoil(self, key: str, found: Nonsense) -> Spoiled:
        is_news = key not in self._spoiled
        self._spoiled.add(key)
        return Spoiled(key, pool_of_key(key), found.why, is_news)


def _told(key: str, found: Pool | None) -> Change | None:
    if found is not None:
        return Kept(found)
    name = pool_of_key(key)
    return None if name is None else Gone(name)
