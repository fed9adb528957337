"""The config service put together (§1, §3): read the folders and the store, then serve until stopped."""

import logging
from pathlib import Path

import attrs
import trio

from sie.config.core.catalog import Catalog, build_catalog
from sie.config.http import reads
from sie.config.settings import ConfigSettings
from sie.config.store import ConfigStore, Epoch, default_bundles_dir, read_folder
from sie.runtime.world import Machine
from sie.storage.backend import Backend
from sie.storage.local import LocalBackend
from sie.web.quart import Surface, build_quart
from sie.web.server import Serve

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024


@attrs.frozen
class World:
    machine: Machine
    serve: Serve


@attrs.frozen
class Loaded:
    catalog: Catalog
    epoch: Epoch


async def run(
    settings: ConfigSettings, world: World, *, task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED
) -> None:
    """Returns once the machine's stop event is set; `task_status` tells the URL."""
    loaded = await world.machine.run_in_thread(lambda: load(settings))
    for problem in loaded.catalog.problems:
        log.error("a configuration document is left out", extra={"problem": problem})
    log.info("the catalogue is loaded", extra=_facts(loaded))
    routes = reads.routes(reads.Reads(loaded.catalog, loaded.epoch, world.machine.unix_s))
    surface = Surface(
        max_body_bytes=MAX_BODY_BYTES,
        not_found=reads.not_found,
        method_not_allowed=reads.method_not_allowed,
        too_large=reads.too_large,
        internal_error=reads.internal_error,
    )
    app = build_quart("sie-config", routes, surface)
    await world.serve(app, host=settings.host, port=settings.port, stop=world.machine.stop, task_status=task_status)


def load(settings: ConfigSettings) -> Loaded:
    """Blocking. Raises StorageError where there is a store that cannot be read: to serve without it would roll back."""
    bundles_dir = settings.bundles_dir or default_bundles_dir()
    models_dir = settings.models_dir or str(Path(bundles_dir) / "models")
    store = ConfigStore(backend(settings.store_dir)) if settings.store_dir else None
    stored = store.read_models() if store and settings.restore else ()
    catalog = build_catalog(read_folder(bundles_dir), read_folder(models_dir), stored)
    return Loaded(catalog, store.read_epoch() if store else Epoch())


def backend(store_dir: str) -> Backend:
    return LocalBackend(Path(store_dir))


def _facts(loaded: Loaded) -> dict[str, object]:
    snapshot = loaded.catalog.snapshot
    return {"bundles": len(snapshot.bundles), "models": len(snapshot.models), "epoch": loaded.epoch.value}
