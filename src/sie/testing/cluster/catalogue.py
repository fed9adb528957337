"""What a simulated cluster serves: bundles and models as documents on disk, in several editions to change between, and
what clients write over them.

An edition is a set of changes to the first one: whoever reads it reads other models, bundles or pools, at no new epoch.
"""

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path

import attrs

from sie.domain.bundle import Bundle
from sie.domain.ids import DEFAULT_POOL, BundleName
from sie.domain.model import Model
from sie.domain.registry import RegistrySnapshot
from sie.wire.documents import parse_bundle, parse_model

SMALL = "acme/small"
FAST = "acme/small:fast"
OTHER = "acme/other"
EXTRA = "acme/extra"
MISSING = "acme/missing"
SIDE = "acme/side"
"""In a pool that no worker serves, as the two after it."""
SIDE_TOO = "acme/side-too"
ASIDE = "acme/aside"
TOLD = "acme/told"
"""Written when all is well, to see that everybody hears of it."""
ADDED = "acme/added"
"""Written by clients, and served by the workers once they hold it."""
SERVED = (SMALL, FAST, OTHER)
"""The serving ids that every edition has, whatever is written."""
WRITTEN = (SIDE, SIDE_TOO, ASIDE, SMALL, ADDED)
POOLS = {SIDE: "side", SIDE_TOO: "side", ASIDE: "aside", TOLD: "side"}

WITH_EXTRA = 1
WITH_SPARE = 2
"""A second bundle, of which the epoch tells nothing."""
MOVED = 4
"""SIDE belongs to another pool."""
EDITIONS = tuple(range(1, 9))
"""One more than the sum of its changes."""

_ADAPTER = "acme.encoders"
_BUNDLE = f"name: default\npriority: 10\nadapters: [{_ADAPTER}]\n"
_SPARE = f"name: spare\npriority: 20\nadapters: [{_ADAPTER}]\n"
_MODEL = """\
sie_id: {name}
{pool}tasks: {{encode: {{dense: {{dim: 2}}}}}}
max_sequence_length: 128
profiles:
  default: {{adapter_path: "{adapter}:Encoder", max_batch_tokens: 16}}
  fast: {{extends: default, max_batch_tokens: 8}}
"""
LANE_BUNDLE: Bundle = parse_bundle(_BUNDLE, stem="default")


def changes(edition: int) -> int:
    return edition - 1


def document(name: str, *marks: str, pool: str | None = None, adapter: str = _ADAPTER) -> str:
    """`marks` are profiles of its own: what was written is known by them wherever it is seen."""
    pool = pool or POOLS.get(name)
    text = _MODEL.format(name=name, pool=f"pool: {pool}\n" if pool else "", adapter=adapter)
    return text + "".join(f"  {mark}: {{extends: default, max_batch_tokens: 4}}\n" for mark in marks)


@cache
def base_documents(edition: int) -> Mapping[str, str]:
    """By model."""
    found = {SMALL: document(SMALL), OTHER: document(OTHER)}
    found[SIDE] = document(SIDE, pool="aside" if changes(edition) & MOVED else None)
    if changes(edition) & WITH_EXTRA:
        found[EXTRA] = document(EXTRA)
    return found


def base_bundles(edition: int) -> dict[str, str]:
    return {"default": _BUNDLE, **({"spare": _SPARE} if changes(edition) & WITH_SPARE else {})}


@attrs.frozen
class CatalogueFolders:
    """A folder for each edition, written once."""

    root: Path

    @classmethod
    def write(cls, root: Path) -> "CatalogueFolders":
        for edition in EDITIONS:
            models = root / str(edition) / "models"
            models.mkdir(parents=True)
            for name, text in base_bundles(edition).items():
                (models.parent / f"{name}.yaml").write_text(text, encoding="utf-8")
            for name, text in base_documents(edition).items():
                (models / f"{name.replace('/', '__')}.yaml").write_text(text, encoding="utf-8")
        return cls(root)

    def bundles_dir(self, edition: int) -> str:
        return str(self.root / str(edition))


@lru_cache(4096)
def model_of_text(text: str) -> Model:
    return parse_model(text)


@lru_cache(4096)
def lane_hash(texts: frozenset[str]) -> str:
    """What the workers' lane is compared by, from the documents themselves; `""` where nothing was read."""
    models = sorted(map(model_of_text, texts), key=lambda model: model.sie_id)
    snapshot = RegistrySnapshot.of((LANE_BUNDLE,), (model for model in models if model.pool == DEFAULT_POOL))
    return snapshot.scoped_hash(BundleName("default"), DEFAULT_POOL) or ""


def profiles_of(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    """The profiles' names by model."""
    models = map(model_of_text, texts)
    return {str(model.sie_id): frozenset(map(str, model.profiles)) for model in models}
