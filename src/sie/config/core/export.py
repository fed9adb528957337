"""What the config service answers about its catalogue (wire-facts 3.2 and 3.5): lists, documents, epoch, export."""

from collections.abc import Mapping
from typing import Final

from sie.config.core.catalog import Catalog, StoredModel
from sie.domain.bundle import Bundle
from sie.domain.registry import RegistrySnapshot, ServingName
from sie.wire.configs_api import BundleRow, BundlesReply, EpochReply, ExportReply, ExportRow, ModelRow, ModelsReply

SOURCE: Final = "filesystem"
"""Bundles have no other: there is no bundle write (§1)."""


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


def bundle_document(bundle: Bundle) -> Mapping[str, object]:
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


def variant_document(name: ServingName) -> Mapping[str, object]:
    """What stands for a `model:profile`, which has no document of its own."""
    return {"bundles": list(name.bundles), "sie_id": name.model.serving_id(name.profile), "source": SOURCE}


def export_reply(epoch: int, catalog: Catalog, *, generated_at: str) -> ExportReply:
    """The whole catalogue at one epoch (§3): `generated_at` is ISO 8601."""
    snapshot = catalog.snapshot
    return ExportReply(
        epoch=epoch,
        generated_at=generated_at,
        bundle_config_hashes={name: value or "" for name, value in snapshot.hashes.items()},
        bundle_pool_config_hashes={
            bundle: {str(pool): value for pool, value in pools.items()}
            for bundle, pools in snapshot.pool_hashes.items()
        },
        bundle_adapters={b.name: b.adapters for b in snapshot.bundles.values()},
        models=tuple(_export_row(snapshot, catalog.models[sie_id]) for sie_id in sorted(catalog.models)),
    )


def _export_row(snapshot: RegistrySnapshot, stored: StoredModel) -> ExportRow:
    return ExportRow(
        model_id=stored.model.sie_id,
        model_config=stored.config,
        raw_yaml=stored.text,
        affected_bundles=snapshot.bundles_of(stored.model),
        pool=stored.model.pool,
        source=stored.source,
    )


def _model_row(name: ServingName, stored: StoredModel) -> ModelRow:
    serving_id = name.model.serving_id(name.profile)
    profiles = tuple(sorted(stored.model.profiles)) if serving_id == name.model.sie_id else (name.profile,)
    return ModelRow(model_id=serving_id, profiles=profiles, source=stored.source)
