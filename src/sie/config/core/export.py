"""What the config service answers about its catalogue (wire-facts 3.2 and 3.5): lists, documents, epoch, export."""

from collections.abc import Mapping
from typing import Final

import orjson

from sie.config.core.catalog import Catalog, StoredModel
from sie.domain.bundle import Bundle
from sie.domain.model import Json
from sie.domain.registry import RegistrySnapshot, ServingName
from sie.wire.configs_api import BundleRow, BundlesReply, EpochReply, ModelRow, ModelsReply

SOURCE: Final = "filesystem"
"""Bundles have no other: there is no bundle write (§1)."""
SNAPSHOT_VERSION = 1


def epoch_reply(epoch: int, snapshot: RegistrySnapshot) -> EpochReply:
    return EpochReply(
        epoch=epoch,
        bundles_hash=snapshot.bundles_hash or "",
        bundle_config_hashes_hash=snapshot.bundle_config_hashes_hash or "",
    )


def bundles_reply(snapshot: RegistrySnapshot) -> BundlesReply:
    """By priority."""
    return BundlesReply(
        bundles=tuple(
            BundleRow(bundle_id=b.name, engine=b.engine, priority=b.priority, adapter_count=len(b.adapters))
            for b in snapshot.bundles.values()
        )
    )


def bundle_document(bundle: Bundle) -> Mapping[str, Json]:
    return {
        "adapters": list(bundle.adapters),
        "engine": bundle.engine,
        "name": bundle.name,
        "priority": bundle.priority,
        "source": SOURCE,
    }


def models_reply(catalog: Catalog) -> ModelsReply:
    """Every name that can be served, sorted: a base id lists all its profiles, a variant itself."""
    rows = [_model_row(name, catalog.models[name.model.sie_id]) for name in catalog.snapshot.serving.values()]
    return ModelsReply(models=tuple(sorted(rows, key=lambda row: row.model_id)))


def variant_document(name: ServingName | None, asked: str) -> Mapping[str, Json]:
    """What stands for a name that has no document of its own; `asked` is how it was spelt. None: a model of that id in
    another case, whose own name nothing serves.
    """
    return {"bundles": list(name.bundles) if name is not None else [], "sie_id": asked, "source": SOURCE}


def export_chunks(epoch: int, catalog: Catalog, *, generated_at: str) -> tuple[bytes, ...]:
    """The whole catalogue at one epoch as JSON (§3, wire-facts 3.5), in pieces that stand ready but for the first.

    `generated_at` is ISO 8601. The head is an ExportReply without its models.
    """
    head = _export_head(epoch, catalog.snapshot, generated_at)
    return (head.removesuffix(b"}") + b',"models":[', *catalog.rows.chunks, b"]}")


def _export_head(epoch: int, snapshot: RegistrySnapshot, generated_at: str) -> bytes:
    head = {
        "snapshot_version": SNAPSHOT_VERSION,
        "epoch": epoch,
        "generated_at": generated_at,
        "bundle_config_hashes": {name: value or "" for name, value in snapshot.hashes.items()},
        "bundle_pool_config_hashes": {name: dict(pools) for name, pools in snapshot.pool_hashes.items()},
        "bundle_adapters": {b.name: b.adapters for b in snapshot.bundles.values()},
    }
    return orjson.dumps(head)


def _model_row(name: ServingName, stored: StoredModel) -> ModelRow:
    serving_id = name.model.serving_id(name.profile)
    profiles = tuple(sorted(stored.model.profiles)) if serving_id == name.model.sie_id else (name.profile,)
    return ModelRow(model_id=serving_id, profiles=profiles, source=stored.source)
