"""What has the listener heard of the cluster's pools (§16.3)? What the watch tells, and our own changes by their turn.

An own change waits for the watch to bring it. Where that is late it is told beforehand, or what the server has by then,
and once a watch has ended well the listener hears again what the mirror has of it: by then nothing older can come.
"""

import logging
from typing import NewType

import attrs
import trio

from sie.gateway.core.pool_documents import Nonsense, read_stored
from sie.gateway.pools.api import PoolListener
from sie.kube.core.mirror import Mirror
from sie.kube.core.names import pool_of_config_map
from sie.kube.core.rewatching import Ended
from sie.kube.core.values import Change, ConfigMap, Put

log = logging.getLogger(__name__)

LAG_S = 1.0
"""That a watch may be behind an own change before the change is told without it."""

Version = NewType("Version", str)
"""A resource version, or the uid of an object that goes."""


@attrs.define(eq=False)
class Telling:
    """`_ahead` are objects of which the listener knows more than the mirror; `_nonsense` those that were complained of;
    `_awaited` what own changes wait for.
    """

    listener: PoolListener
    mirror: Mirror[ConfigMap] = attrs.field(factory=Mirror, init=False)
    _ahead: set[str] = attrs.field(factory=set, init=False)
    _nonsense: set[str] = attrs.field(factory=set, init=False)
    _awaited: dict[Version, trio.Event] = attrs.field(factory=dict, init=False)

    def known(self, name: str) -> Version | None:
        """The version that the watch brought last; None where it brought none."""
        item = self.mirror.items.get(name)
        return None if item is None else _version(item)

    def changed(self, changes: tuple[Change[ConfigMap], ...]) -> None:
        for change in changes:
            if isinstance(change, Put):
                self._tell(change.item)
                self._came(_version(change.item))
            else:
                self._tell_gone(change.item.metadata.name)
                self._came(_uid(change.item))

    def ended(self, ended: Ended) -> None:
        if ended.error is not None:
            return
        for name in self._ahead:
            item = self.mirror.items.get(name)
            if item is None:
                self._tell_gone(name)
            else:
                self._tell(item)
        self._ahead.clear()

    async def written(self, item: ConfigMap, known: Version | None) -> bool:
        """`known` before it was written. False, and nothing told: the watch has brought another, older or newer."""
        name, version = item.metadata.name, _version(item)
        if self.known(name) == version or await self._comes(version):
            return True
        if self.known(name) != known:
            return False
        self.tell_ahead(name, item)
        return True

    def tell_ahead(self, name: str, item: ConfigMap | None) -> None:
        """What is there by now, whatever the watch has brought; None is nothing."""
        self._ahead.add(name)
        if item is None:
            self._tell_gone(name)
        else:
            self._tell(item)

    async def removed(self, item: ConfigMap) -> None:
        held = self.mirror.items.get(item.metadata.name)
        if held is None or not await self._comes(_uid(item)):
            self.removed_nowait(item)

    def removed_nowait(self, item: ConfigMap) -> None:
        """Nothing, where another took its place."""
        held = self.mirror.items.get(item.metadata.name)
        if held is None or _uid(held) == _uid(item):
            self._ahead.add(item.metadata.name)
            self._tell_gone(item.metadata.name)

    async def _comes(self, version: Version) -> bool:
        """Whether the watch brings it in time."""
        came = self._awaited.setdefault(version, trio.Event())
        with trio.move_on_after(LAG_S):
            await came.wait()
        if not came.is_set():
            self._awaited.pop(version, None)
        return came.is_set()

    def _came(self, version: Version) -> None:
        came = self._awaited.pop(version, None)
        if came is not None:
            came.set()

    def _tell(self, item: ConfigMap) -> None:
        name, found = item.metadata.name, read_stored(item)
        if isinstance(found, Nonsense):
            self._complain(name, found)
            return
        self._nonsense.discard(name)
        self.listener.kept(found)

    def _complain(self, name: str, found: Nonsense) -> None:
        self._tell_pool_gone(name)
        if name not in self._nonsense:
            self._nonsense.add(name)
            log.error("what should be a pool is none, and is skipped", extra={"object": name, "why": found.why})

    def _tell_gone(self, name: str) -> None:
        self._nonsense.discard(name)
        self._tell_pool_gone(name)

    def _tell_pool_gone(self, name: str) -> None:
        pool = pool_of_config_map(name)
        if pool is not None:
            self.listener.gone(pool)


def _version(item: ConfigMap) -> Version:
    return Version(item.metadata.resource_version or "")


def _uid(item: ConfigMap) -> Version:
    return Version(item.metadata.uid or "")
