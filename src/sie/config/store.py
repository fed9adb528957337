"""The config service's disk (§9): bundle and model folders read at start, and the store's models and epoch.

Everything here blocks and runs off the loop. What the texts mean is `sie.config.core.catalog`'s.
"""

import logging
from pathlib import Path

import attrs

from sie.config.core.catalog import Document
from sie.storage.backend import Backend

log = logging.getLogger(__name__)

MODELS = "models"
EPOCH = "epoch"


@attrs.frozen
class Epoch:
    """`trusted` is False where the stored counter is no number: its hashes must then not be told (decisions)."""

    value: int = 0
    trusted: bool = True


@attrs.frozen
class ConfigStore:
    """`{base}/models/{id with / as __}.yaml` and `{base}/epoch`."""

    backend: Backend

    def read_models(self) -> tuple[Document, ...]:
        names = [name for name in self.backend.list_names(MODELS) if name.endswith(".yaml")]
        texts = [(f"{MODELS}/{name}", self.backend.read_text(f"{MODELS}/{name}")) for name in names]
        return tuple(Document(name, text) for name, text in texts if text is not None)

    def read_epoch(self) -> Epoch:
        text = self.backend.read_text(EPOCH)
        if text is None:
            return Epoch()
        if not text.strip().isdecimal():
            log.error("the epoch file holds no number", extra={"content": text[:80]})
            return Epoch(0, trusted=False)
        return Epoch(int(text))


def read_folder(folder: str) -> tuple[Document, ...]:
    """Every `*.yaml` directly in the folder, by name; a file that cannot be read is logged and left out."""
    documents = []
    for path in sorted(Path(folder).glob("*.yaml")):
        try:
            documents.append(Document(str(path), path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            log.error("a configuration file cannot be read", extra={"file": str(path), "error": str(error)})
    return tuple(documents)


def default_bundles_dir() -> str:
    """The folder that came with the installation: inside the package, or the repository's own in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / "bundles"
    return str(inside if inside.is_dir() else package.parents[1] / "bundles")
