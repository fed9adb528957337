"""Bundles and models from folders (§4, §13): what the gateway serves until the authority has been read, or without one.

The folders are looked at again and again. A file is read once it has stood still between two looks, so that none is
taken half-written; one that cannot be read keeps what it said before.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NoReturn, TypeVar

import attrs
import trio

from sie.domain.bundle import Bundle
from sie.domain.model import Model
from sie.domain.registry import RegistrySnapshot
from sie.gateway.sync.bootstrap import Syncing
from sie.wire.converters import WireError
from sie.wire.documents import parse_bundle, parse_model

log = logging.getLogger(__name__)
T = TypeVar("T")

LOOK_S = 0.5
"""A change is taken at the second look after it: within a second, below the 2 s that users are promised."""

Stamp = tuple[int, int, int]
"""Inode, modification time in ns and size: together they change with every write."""
Stamps = Mapping[Path, Stamp]


@attrs.frozen
class Folders:
    bundles: Path
    models: Path

    def stamps(self) -> Stamps:
        """Blocking. Every `*.yaml` directly in either; a folder that is not there is empty."""
        found = [*sorted(self.bundles.glob("*.yaml")), *sorted(self.models.glob("*.yaml"))]
        return {path: stamp for path in found if (stamp := _stamp(path)) is not None}


def folders_of(bundles_dir: str | None, models_dir: str | None) -> Folders | None:
    """None where neither is set; models lie under the bundles unless they have a folder of their own."""
    if bundles_dir is None and models_dir is None:
        return None
    bundles = Path(bundles_dir) if bundles_dir is not None else Path(models_dir or "").parent
    return Folders(bundles, Path(models_dir) if models_dir is not None else bundles / "models")


@attrs.define(eq=False)
class Seed:
    """`_bundles` and `_models` are what each file said when it could last be read."""

    folders: Folders
    syncing: Syncing
    _bundles: dict[Path, Bundle] = attrs.field(factory=dict, init=False)
    _models: dict[Path, Model] = attrs.field(factory=dict, init=False)
    _read: Stamps = attrs.field(factory=dict, init=False)

    async def load(self) -> None:
        """At the start, whatever is there."""
        await self._take(await self.syncing.run_in_thread(self.folders.stamps))

    async def watch_forever(self) -> NoReturn:
        before = self._read
        while True:
            await trio.sleep(LOOK_S)
            now = await self.syncing.run_in_thread(self.folders.stamps)
            if now == before != self._read:
                await self._take(now)
            before = now

    async def _take(self, stamps: Stamps) -> None:
        """The authority's word stands over the folders once it has been heard."""
        async with self.syncing.turn:
            await self.syncing.build_in_thread(lambda: self._parse(stamps))
            self._read = stamps
            replica = self.syncing.replica
            if not replica.bootstrap.done:
                replica.registry.install(await self.syncing.build_in_thread(self._snapshot))
        log.info("the folders are read", extra={"bundles": len(self._bundles), "models": len(self._models)})

    def _parse(self, stamps: Stamps) -> None:
        changed = [path for path in stamps if stamps[path] != self._read.get(path)]
        for held in (self._bundles, self._models):
            for path in held.keys() - stamps.keys():
                del held[path]
        for path in changed:
            if path.parent == self.folders.bundles:
                _keep(self._bundles, path, partial(parse_bundle, stem=path.stem))
            else:
                _keep(self._models, path, parse_model)

    def _snapshot(self) -> RegistrySnapshot:
        return RegistrySnapshot.of(self._bundles.values(), self._models.values(), self.syncing.form)


def _keep(held: dict[Path, T], path: Path, parse: Callable[[str], T]) -> None:
    try:
        held[path] = parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, WireError) as error:
        log.error("a file of the seed cannot be read", extra={"file": str(path), "error": str(error)})


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
