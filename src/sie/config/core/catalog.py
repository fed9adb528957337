"""What the config service holds: every bundle and model document with its source, and the snapshot they make (§1, §3).

A document that cannot be read is left out and named; one bad file never takes the rest of the catalogue with it.
"""

from collections.abc import Iterable, Mapping

import attrs
import orjson

from sie.domain.bundle import Bundle
from sie.domain.hash_form import HashForm
from sie.domain.ids import ModelId
from sie.domain.joined_rows import JoinedRows
from sie.domain.model import Json, Model
from sie.domain.registry import RegistrySnapshot
from sie.wire.configs_api import ExportRow, Source, to_json
from sie.wire.converters import WireError
from sie.wire.documents import load_yaml, model_of, parse_bundle

Config = Mapping[str, Json]


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
    """A model with the text it was read from, that text parsed, and its row of the export, which is asked for often."""

    model: Model
    text: str
    config: Config
    source: Source
    export_row: bytes


@attrs.frozen
class Catalog:
    """`seeds` are the models that came with the installation, those among `models` too; `rows` those of the export.
    `problems` holds a line for each document left out.
    """

    snapshot: RegistrySnapshot
    models: Mapping[ModelId, StoredModel]
    seeds: Mapping[ModelId, StoredModel]
    rows: JoinedRows
    problems: tuple[str, ...] = ()

    def with_model(self, text: str, config: Config) -> "Catalog":
        """As written through the API, in place of whatever had its id. Raises WireError."""
        model = model_of(config)
        snapshot = self.snapshot.with_model(model)
        return self._with(snapshot, stored_model(model, text, config, API, snapshot))

    def without_model(self, sie_id: ModelId) -> "Catalog":
        """Without what was written of that id; the seed that it was written over is there again."""
        seed = self.seeds.get(sie_id)
        if seed is not None:
            return self._with(self.snapshot.with_model(seed.model), seed)
        models = {**self.models}
        models.pop(sie_id, None)
        snapshot, rows = self.snapshot.without_model(sie_id), self.rows.without_row(sie_id)
        return attrs.evolve(self, snapshot=snapshot, models=models, rows=rows)

    def _with(self, snapshot: RegistrySnapshot, stored: StoredModel) -> "Catalog":
        sie_id = stored.model.sie_id
        rows = self.rows.with_row(sie_id, stored.export_row)
        return attrs.evolve(self, snapshot=snapshot, models={**self.models, sie_id: stored}, rows=rows)


FILESYSTEM: Source = "filesystem"
API: Source = "api"


def build_catalog(
    bundles: Iterable[Document],
    seeds: Iterable[Document],
    stored: Iterable[Document],
    form: HashForm = HashForm.REFERENCE,
) -> Catalog:
    """A stored model wins over a seed of the same id, which it was written over."""
    problems: list[str] = []
    taken = [bundle for document in bundles if (bundle := _bundle(document, problems)) is not None]
    known = RegistrySnapshot.of(taken, (), form)
    from_seeds = _models(seeds, FILESYSTEM, known, problems)
    models = {**from_seeds, **_models(stored, API, known, problems)}
    snapshot = RegistrySnapshot.of(taken, (stored.model for stored in models.values()), form)
    rows = JoinedRows.of({sie_id: stored.export_row for sie_id, stored in models.items()})
    return Catalog(snapshot, models, from_seeds, rows, tuple(problems))


def stored_model(model: Model, text: str, config: Config, source: Source, known: RegistrySnapshot) -> StoredModel:
    row = ExportRow(
        model_id=model.sie_id,
        model_config=config,
        raw_yaml=text,
        affected_bundles=known.bundles_of(model),
        pool=model.pool,
        source=source,
    )
    return StoredModel(model, text, config, source, orjson.dumps(to_json(row)))


def parse_config(text: str) -> Config:
    """The one map that a model document must be. Raises WireError."""
    value = load_yaml(text)
    if not isinstance(value, Mapping):
        raise WireError.at(message="Expected YAML mapping at top level")
    return value


def _bundle(document: Document, problems: list[str]) -> Bundle | None:
    try:
        return parse_bundle(document.text, stem=document.stem)
    except WireError as error:
        problems.append(f"{document.name}: {error}")
        return None


def _models(
    documents: Iterable[Document], source: Source, known: RegistrySnapshot, problems: list[str]
) -> Mapping[ModelId, StoredModel]:
    found: dict[ModelId, StoredModel] = {}
    for document in documents:
        try:
            config = parse_config(document.text)
            model = model_of(config)
        except WireError as error:
            problems.append(f"{document.name}: {error}")
        else:
            found[model.sie_id] = stored_model(model, document.text, config, source, known)
    return found
