"""What one service knows of bundles and models, and which bundle serves which name (§5, §16.1).

A snapshot never changes and holds its hashes; readers take the registry's one attribute, writers replace it whole.
"""

from collections.abc import Iterable, Mapping

import attrs

from sie.domain.bundle import Bundle
from sie.domain.bundle_hash import (
    BundleHash,
    bundle_config_hash,
    bundle_config_hashes_hash,
    bundles_hash,
    serves,
)
from sie.domain.ids import DEFAULT_PROFILE, BundleName, ModelId, PoolName, ProfileName
from sie.domain.model import Model


@attrs.frozen
class ServingName:
    """One name a request can use: a profile of a model with the bundles that run it, best first."""

    model: Model
    profile: ProfileName
    bundles: tuple[BundleName, ...]


@attrs.frozen
class RegistrySnapshot:
    """Built by `of`; the maps beside bundles and models are derived there, once."""

    bundles: Mapping[BundleName, Bundle]
    models: Mapping[ModelId, Model]
    serving: Mapping[str, ServingName]
    """Keyed by serving id, in lower case: look-up ignores case (wire-facts 3.2)."""
    hashes: Mapping[BundleName, BundleHash | None]
    pool_hashes: Mapping[BundleName, Mapping[PoolName, BundleHash]]
    bundles_hash: BundleHash | None
    bundle_config_hashes_hash: BundleHash | None

    @classmethod
    def of(cls, bundles: Iterable[Bundle], models: Iterable[Model]) -> "RegistrySnapshot":
        by_rank = sorted(bundles, key=lambda bundle: bundle.rank)
        catalog = sorted(models, key=lambda model: model.sie_id)
        members = {b.name: [m for m in catalog if serves(b, m)] for b in by_rank}
        hashes = {b.name: bundle_config_hash(b, members[b.name]) for b in by_rank}
        return cls(
            bundles={b.name: b for b in by_rank},
            models={m.sie_id: m for m in catalog},
            serving=_serving(by_rank, catalog),
            hashes=hashes,
            pool_hashes={b.name: _pool_hashes(b, members[b.name]) for b in by_rank},
            bundles_hash=bundles_hash(by_rank),
            bundle_config_hashes_hash=bundle_config_hashes_hash(
                hashes, {name: {m.sie_id: m.pool for m in served} for name, served in members.items()}
            ),
        )

    @classmethod
    def empty(cls) -> "RegistrySnapshot":
        return cls.of((), ())

    def find(self, serving_id: str) -> ServingName | None:
        """Case does not count, and `model:default` is the model (§16.1)."""
        return self.serving.get(serving_id.lower().removesuffix(f":{DEFAULT_PROFILE}"))

    def scoped_hash(self, bundle: BundleName, pool: PoolName) -> BundleHash | None:
        """What a worker of that bundle and queue pool must report (§7)."""
        return self.pool_hashes.get(bundle, {}).get(pool)

    def bundles_of(self, model: Model) -> tuple[BundleName, ...]:
        """Every bundle that runs any profile of the model, best first."""
        return tuple(b.name for b in self.bundles.values() if serves(b, model))


@attrs.define
class ModelRegistry:
    """The one attribute that readers read; `install` is a single assignment, so no reader sees half of a change."""

    snapshot: RegistrySnapshot = attrs.field(factory=RegistrySnapshot.empty)

    def install(self, snapshot: RegistrySnapshot) -> None:
        self.snapshot = snapshot


def _serving(by_rank: Iterable[Bundle], catalog: Iterable[Model]) -> Mapping[str, ServingName]:
    bundles = tuple(by_rank)
    names: dict[str, ServingName] = {}
    for model in catalog:
        for profile in model.profiles:
            fitting = _fitting(bundles, model, profile)
            if fitting:
                names[model.serving_id(profile).lower()] = ServingName(model, profile, fitting)
    return names


def _fitting(bundles: Iterable[Bundle], model: Model, profile: ProfileName) -> tuple[BundleName, ...]:
    effective = model.effective(profile)
    module = effective.module if effective else None
    return tuple(b.name for b in bundles if module is not None and module in b.adapters)


def _pool_hashes(bundle: Bundle, members: Iterable[Model]) -> Mapping[PoolName, BundleHash]:
    served = tuple(members)
    pools = sorted({model.pool for model in served})
    found = ((pool, bundle_config_hash(bundle, served, pool)) for pool in pools)
    return {pool: value for pool, value in found if value is not None}
