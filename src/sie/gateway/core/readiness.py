"""Do the workers hold a model's configuration yet (§6)? Per bundle, in the model's own physical pool. Pure."""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from sie.domain.bundle_hash import BundleHash
from sie.domain.ids import BundleName, PoolName, WorkerId
from sie.domain.model import Model
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import WorkerStatus

SOURCE = "gateway-registry"


@attrs.frozen
class BundleReadiness:
    """`expected` is what a worker of the bundle in that pool must report; the others are pending."""

    bundle: BundleName
    pool: PoolName
    expected: BundleHash | None
    acked: tuple[WorkerId, ...]
    pending: tuple[WorkerId, ...]

    @property
    def is_acked(self) -> bool:
        return bool(self.acked) and not self.pending


@attrs.frozen
class Readiness:
    bundles: tuple[BundleReadiness, ...]

    @property
    def is_acked(self) -> bool:
        """Nothing to acknowledge is not acknowledged: such a model is deployed nowhere."""
        return bool(self.bundles) and all(bundle.is_acked for bundle in self.bundles)


def readiness_of(
    snapshot: RegistrySnapshot, model: Model, bundles: Iterable[BundleName], workers: Sequence[WorkerStatus]
) -> Readiness:
    """`workers` are those that are not stale; the unhealthy ones among them count nowhere."""
    return Readiness(tuple(_bundle_readiness(snapshot, bundle, model.pool, workers) for bundle in bundles))


def readiness_document(model_id: str, epoch: int, readiness: Readiness) -> Mapping[str, object]:
    return {
        "model_id": model_id,
        "config_epoch": epoch,
        "all_bundles_acked": readiness.is_acked,
        "no_bundles": not readiness.bundles,
        "bundles": [_row(bundle) for bundle in readiness.bundles],
        "source": SOURCE,
    }


def _bundle_readiness(
    snapshot: RegistrySnapshot, bundle: BundleName, pool: PoolName, workers: Iterable[WorkerStatus]
) -> BundleReadiness:
    expected = snapshot.scoped_hash(bundle, pool)
    eligible = [w for w in workers if w.takes_work and w.lane.bundle == bundle and w.lane.pool == pool]
    acked = tuple(w.worker for w in eligible if _holds(w, expected))
    pending = tuple(w.worker for w in eligible if not _holds(w, expected))
    return BundleReadiness(bundle, pool, expected, acked, pending)


def _holds(worker: WorkerStatus, expected: BundleHash | None) -> bool:
    return expected is not None and worker.bundle_config_hash == expected


def _row(bundle: BundleReadiness) -> Mapping[str, object]:
    return {
        "bundle_id": bundle.bundle,
        "pool": bundle.pool,
        "expected_bundle_config_hash": bundle.expected or "",
        "total_eligible_workers": len(bundle.acked) + len(bundle.pending),
        "acked_workers": list(bundle.acked),
        "pending_workers": list(bundle.pending),
        "acked": bundle.is_acked,
    }
