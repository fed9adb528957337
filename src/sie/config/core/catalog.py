"""What the config service holds: every bundle and model document with its source, and the snapshot they make (§1, §3).

A document that cannot be read is left out and named; one bad file never takes the rest of the catalogue with it.
"""

from collections.abc import Iterable, Mapping

import attrs

from sie.domain.bundle import Bundle
from sie.domain.ids import ModelId
from sie.domain.model import Model
from sie.domain.registry import RegistrySnapshot
from sie.wire.configs_api import Source
from sie.wire.converters import WireError
from sie.wire.documents import load_yaml, model_of, parse_bundle


@attrs.frozen
class Document:
    """A file as it was read; `name` says where, for messages."""

    name: str
    text: str

    @property
    def stem(self) -> str:
        return self.name.rpartition("/")[2].removesuffix(".yaml")


@attrs.frozen
class StoredModel:
    """A model with the text it was read from and that text parsed, which the export carries."""

    model: Model
    text: str
    config: Mapping[str, object]
    source: Source


@attrs.frozen
class Catalog:
    """`problems` holds a line for each document left out."""

    snapshot: RegistrySnapshot
    models: Mapping[ModelId, StoredModel]
    problems: tuple[str, ...]


def build_catalog(bundles: Iterable[Document], seeds: Iterable[Document], stored: Iterable[Document]) -> Catalog:
    """A stored model wins over a seed of the same id, which it was written over."""
    problems: list[str] = []
    taken = [bundle for document in bundles if (bundle := _bundle(document, problems)) is not None]
    models: dict[ModelId, StoredModel] = {}
    for documents, source in ((seeds, _FILESYSTEM), (stored, _API)):
        for document in documents:
            found = _model(document, source, problems)
            if found is not None:
                models[found.model.sie_id] = found
    snapshot = RegistrySnapshot.of(taken, (stored.model for stored in models.values()))
    return Catalog(snapshot, models, tuple(problems))


_FILESYSTEM: Source = "filesystem"
_API: Source = "api"


def _bundle(document: Document, problems: list[str]) -> Bundle | None:
    try:
        return parse_bundle(document.text, stem=document.stem)
    except WireError as error:
        problems.append(f"{document.name}: {error}")
        return None


def _model(document: Document, source: Source, problems: list[str]) -> StoredModel | None:
    try:
        config = load_yaml(document.text)
        model = model_of(config)
    except WireError as error:
        problems.append(f"{document.name}: {error}")
        return None
    return StoredModel(model, document.text, config if isinstance(config, Mapping) else {}, source)
