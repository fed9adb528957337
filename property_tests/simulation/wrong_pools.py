"""How a gateway must not keep pools: each function stands in for a right one while a mutant is on."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import NoReturn

import attrs
import trio

from sie.domain.ids import PoolName
from sie.domain.pool import AssignedWorker, Pool, PoolSpec
from sie.gateway.core.pool_documents import Nonsense, read_stored, renewed
from sie.gateway.core.pool_ring import Place, Ring, Standing
from sie.gateway.core.pool_view import PoolView
from sie.gateway.pools.api import StoreAway
from sie.gateway.pools.kubernetes import KubernetesPools
from sie.gateway.pools.telling import Telling, Version
from sie.kube.api import Kube, Objects, Watched
from sie.kube.core.documents import CONFIG_MAPS, Kind
from sie.kube.core.errors import AlreadyExists, KubeError
from sie.kube.core.mirror import Mirror
from sie.kube.core.names import config_map_name
from sie.kube.core.rewatching import Ended
from sie.kube.core.values import Change, ConfigMap, Listing, Put, T
from sie.kube.swapping import read_or_none
from sie.kube.watching import Watch, _pass_once

RIGHT_PUT = KubernetesPools.put
RIGHT_DELETE = KubernetesPools.delete
RIGHT_CHANGED = KubernetesPools._changed
RIGHT_ENDED = Telling.ended


async def removes_any_version(self: KubernetesPools, item: ConfigMap) -> bool:
    try:
        await self.kube.delete(CONFIG_MAPS, item.metadata.name)
    except KubeError:
        return False
    return True


async def writes_over(
    kube: Objects, kind: Kind[T], name: str, change: Callable[[T | None], T | None], **_: object
) -> T | None:
    current = await read_or_none(kube, kind, name)
    wanted = change(current)
    if wanted is None or wanted == current:
        return current
    if current is None:
        try:
            return await kube.create(kind, wanted)
        except AlreadyExists:
            return await writes_over(kube, kind, name, change)
    return await kube.replace(kind, kind.read({**kind.write(wanted), "metadata": _bare(kind, wanted)}))


def _bare(kind: Kind[T], item: T) -> Mapping[str, object]:
    """Of no version, as who does not compare writes it."""
    metadata = kind.write(item)["metadata"]
    assert isinstance(metadata, Mapping)
    return {key: value for key, value in metadata.items() if key != "resourceVersion"}


def keeps_what_went(self: Mirror[T], listing: Listing[T]) -> tuple[Change[T], ...]:
    present = {item.metadata.name: item for item in listing.items}
    put = [Put(item) for name, item in sorted(present.items()) if self._items.get(name) != item]
    self._items = {**self._items, **present}
    self.resource_version = listing.resource_version
    return tuple(put)


async def watches_once(
    kube: Watched, watch: Watch[T], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> NoReturn:
    await _pass_once(kube, watch, task_status.started)
    await trio.sleep_forever()


def by_arrival(self: Ring, standing: Standing) -> None:
    self._places.append(standing.place)
    self._workers.append(standing.worker)
    self._everyone = None


def leaves_by_arrival(self: Ring, standing: Standing) -> None:
    at = self._places.index(standing.place)
    del self._places[at], self._workers[at]
    self._everyone = None


def takes_the_first(self: Ring, start: Place, count: int) -> tuple[AssignedWorker, ...]:
    del start
    return tuple(self._workers[:count])


def takes_one_more(self: Ring, start: Place, count: int) -> tuple[AssignedWorker, ...]:
    at, taken = bisect_left(self._places, start), min(count + 1, len(self._workers))
    return tuple((self._workers[at:] + self._workers[:at])[:taken])


def forgets_at_an_error(self: Telling, ended: Ended) -> None:
    RIGHT_ENDED(self, ended)
    if ended.error is not None:
        for item in tuple(self.mirror.items.values()):
            self._tell_gone(item.metadata.name)
        self.mirror._items.clear()
        self.mirror.forget_version()


async def done_anyway(self: KubernetesPools, name: PoolName) -> bool:
    try:
        return await RIGHT_DELETE(self, name)
    except StoreAway:
        return True


async def kept_anyway(self: KubernetesPools, spec: PoolSpec, now_s: float) -> Pool:
    try:
        return await RIGHT_PUT(self, spec, now_s)
    except StoreAway:
        pool = Pool(spec, now_s, now_s)
        self.telling.listener.kept(pool)
        return pool


async def revives(self: KubernetesPools, name: PoolName, now_s: float) -> Pool | None:
    known = self.telling.mirror.items.get(config_map_name(name))

    def change(item: ConfigMap | None) -> ConfigMap | None:
        if item is not None or known is None:
            return renewed(item, now_s)
        bare = attrs.evolve(known.metadata, uid=None, resource_version=None, creation_unix_s=None)
        return renewed(attrs.evolve(known, metadata=bare), now_s)

    return await RIGHT_CHANGED(self, name, change)


async def leaves_the_lease(kube: Kube, name: PoolName, owner: ConfigMap) -> None:
    del kube, name, owner


def crashes_on_nonsense(item: ConfigMap) -> Pool | Nonsense:
    found = read_stored(item)
    assert not isinstance(found, Nonsense), found.why
    return found


def takes_the_time_given(self: Pool, now_s: float) -> Pool:
    return attrs.evolve(self, renewed_s=now_s)


async def waits_for_the_watch(self: Telling, item: ConfigMap, known: Version | None) -> bool:
    del self, item, known
    return True


def never_over(self: PoolView, now_s: float) -> tuple[Pool, ...]:
    del self, now_s
    return ()
