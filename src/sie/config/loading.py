"""What does the config service start from (§9)? Its folders of bundles and models, and the store over them."""

import logging
from collections.abc import Callable
from pathlib import Path

import attrs
import trio

from sie.config.core.catalog import Catalog, build_catalog
from sie.config.state import ConfigState, Held
from sie.config.store import ConfigStore, Stored, default_bundles_dir, read_folder
from sie.domain.hash_form import HashForm
from sie.runtime.retrying import Backoff
from sie.runtime.world import RunInThread
from sie.storage.backend import StorageError

log = logging.getLogger(__name__)

BACKOFF = Backoff(initial_s=1.0, cap_s=30.0)


class FolderMissing(Exception):
    """SIE_BUNDLES_DIR or SIE_MODELS_DIR names no folder: an empty catalogue would take every model away."""


@attrs.frozen
class Loader:
    """`store` is None where nothing is kept; it is read even when its models are not restored, to write after it."""

    bundles_dir: str
    models_dir: str
    store: ConfigStore | None
    restore: bool
    form: HashForm

    @classmethod
    def of(
        cls,
        bundles_dir: str | None,
        models_dir: str | None,
        store: ConfigStore | None,
        *,
        restore: bool,
        form: HashForm,
    ) -> "Loader":
        """None stands for the folders that came with the installation."""
        bundles = bundles_dir or default_bundles_dir()
        return cls(bundles, models_dir or str(Path(bundles) / "models"), store, restore, form)

    def load(self) -> Held:
        """Blocking. Raises FolderMissing, or StorageError: to serve without a store that is there would roll back."""
        for folder in (self.bundles_dir, self.models_dir):
            if not Path(folder).is_dir():
                raise FolderMissing(f"{folder} is no folder")
        stored = self.store.load() if self.store is not None else None
        documents = stored.models if stored is not None and self.restore else ()
        catalog = build_catalog(read_folder(self.bundles_dir), read_folder(self.models_dir), documents, self.form)
        for problem in catalog.problems:
            log.error("a configuration document is left out", extra={"problem": problem})
        return _held(catalog, stored)


async def load_once(state: ConfigState, load: Callable[[], Held], run_in_thread: RunInThread) -> bool:
    """False: the registry could not be built; the log says why."""
    try:
        held = await run_in_thread(load)
    except (StorageError, FolderMissing) as error:
        log.error("the registry cannot be built", extra={"error": str(error)})
        return False
    state.install(held)
    log.info("the catalogue is loaded", extra=_facts(held))
    return True


async def load_until_done(state: ConfigState, load: Callable[[], Held], run_in_thread: RunInThread) -> None:
    """After a first try that failed. Until one succeeds the registry is unavailable (§11); the epoch answers."""
    for delay_s in BACKOFF.delays():
        await trio.sleep(delay_s)
        if await load_once(state, load, run_in_thread):
            return


def _held(catalog: Catalog, stored: Stored | None) -> Held:
    return Held(catalog, stored.epoch.value if stored is not None else 0)


def _facts(held: Held) -> dict[str, object]:
    snapshot = held.catalog.snapshot
    return {"bundles": len(snapshot.bundles), "models": len(snapshot.models), "epoch": held.epoch}
