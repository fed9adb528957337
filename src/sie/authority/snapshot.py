"""From what the config service said to a registry snapshot (§4.1): which rows are taken, which failed. Pure."""

from collections.abc import Iterable, Mapping

import attrs

from sie.domain.bundle import Bundle
from sie.domain.hash_form import HashForm
from sie.domain.ids import ModelId
from sie.domain.model import Model
from sie.domain.registry import RegistrySnapshot
from sie.wire.configs_api import ExportReply, ExportRow
from sie.wire.converters import WireError
from sie.wire.documents import model_of

NOTHING = RegistrySnapshot.empty()


@attrs.frozen
class Assembled:
    """`failed` names each row that could not be taken, and why; `skipped` counts rows without a body (§4.1)."""

    snapshot: RegistrySnapshot
    failed: Mapping[str, str]
    skipped: int


def assemble(
    bundles: Iterable[Bundle],
    export: ExportReply,
    before: RegistrySnapshot = NOTHING,
    form: HashForm = HashForm.REFERENCE,
) -> Assembled:
    """The export's models and no others; a row that fails keeps the model that `before` has of it (decisions)."""
    models: dict[ModelId, Model] = {}
    failed: dict[str, str] = {}
    for row in (row for row in export.models if row.model_config is not None):
        try:
            model = model_of(row.model_config)
        except WireError as error:
            failed[row.model_id] = str(error)
            kept = before.models.get(ModelId(row.model_id))
            if kept is not None:
                models[kept.sie_id] = kept
        else:
            models[model.sie_id] = model
    snapshot = RegistrySnapshot.of(bundles, models.values(), form)
    unroutable = {str(m.sie_id): "no bundle runs it" for m in models.values() if not snapshot.bundles_of(m)}
    return Assembled(snapshot, {**failed, **unroutable}, sum(map(_is_empty, export.models)))


def _is_empty(row: ExportRow) -> bool:
    return row.model_config is None
