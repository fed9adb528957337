"""The config service's JSON (wire-facts 3.2): epoch, bundle list and export, read and written by one set of classes."""

from collections.abc import Mapping
from typing import Literal

import attrs

from sie.domain.convergence import Reading
from sie.wire.converters import TOLERANT, structure

Source = Literal["api", "filesystem"]


@attrs.frozen(kw_only=True)
class EpochReply:
    """`""` is the documented sentinel for a hash that is not known (§4.2)."""

    epoch: int
    bundles_hash: str = ""
    bundle_config_hashes_hash: str = ""


@attrs.frozen(kw_only=True)
class BundleRow:
    bundle_id: str
    engine: str = "pytorch"
    priority: int = 100
    adapter_count: int = 0
    source: str = "filesystem"


@attrs.frozen(kw_only=True)
class BundlesReply:
    bundles: tuple[BundleRow, ...]


@attrs.frozen(kw_only=True)
class ModelRow:
    model_id: str
    profiles: tuple[str, ...]
    source: Source


@attrs.frozen(kw_only=True)
class ModelsReply:
    models: tuple[ModelRow, ...]


@attrs.frozen(kw_only=True)
class ExportRow:
    """`model_config` is the parsed document, not yet checked: a malformed one fails its row, not the export, and a row
    without one is skipped (§4.1).
    """

    model_id: str
    model_config: object = None
    raw_yaml: str | None = None
    affected_bundles: tuple[str, ...] = ()
    pool: str = "default"
    source: Source = "filesystem"


@attrs.frozen(kw_only=True)
class ExportReply:
    """`generated_at` is ISO 8601 with an offset."""

    epoch: int
    models: tuple[ExportRow, ...]
    snapshot_version: int = 1
    generated_at: str = ""
    bundle_config_hashes: Mapping[str, str] = attrs.field(factory=dict)
    bundle_pool_config_hashes: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    bundle_adapters: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)


def read_epoch(value: object) -> EpochReply:
    """Raises WireError, as the two below do."""
    return structure(TOLERANT, value, EpochReply)


def read_bundles(value: object) -> BundlesReply:
    return structure(TOLERANT, value, BundlesReply)


def read_export(value: object) -> ExportReply:
    return structure(TOLERANT, value, ExportReply)


def to_json(reply: EpochReply | BundlesReply | ModelsReply | ExportReply | ExportRow) -> object:
    return TOLERANT.unstructure(reply)


def reading_of(reply: EpochReply) -> Reading:
    return Reading(reply.epoch, reply.bundles_hash or None, reply.bundle_config_hashes_hash or None)
