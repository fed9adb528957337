"""What one service knows of bundles and models, and which bundle serves which name (§5, §16.1).

A snapshot never changes and holds its hashes; readers take the registry's one attribute, writers replace it whole. The
next snapshot shares all of the last one that the change leaves alone.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import TypeVar

import attrs

from sie.domain.bundle import Bundle, BundleSet
from sie.domain.bundle_hash import BundleHash, bundles_hash, members_hash
from sie.domain.hash_form import HashForm
from sie.domain.ids import DEFAULT_PROFILE, BundleName, ModelId, PoolName
from sie.domain.model import Model
from sie.domain.registered import Registered, ServingName, register
from sie.domain.scopes import Scopes

__all__ = ["ModelRegistry", "RegistrySnapshot", "ServingName"]

T = TypeVar("T")


@attrs.frozen
class RegistrySnapshot:
    """Built by `of` and by the methods that change one thing; all else is derived from bundles, models and form."""

    bundles: Mapping[BundleName, Bundle]
    """Best first."""
    models: Mapping[ModelId, Model]
    """By id."""
    serving: Mapping[str, ServingName]
    """Keyed by serving id, in lower case: look-up ignores case (wire-facts 3.2)."""
    hashes: Mapping[BundleName, BundleHash | None]
    pool_hashes: Mapping[BundleName, Mapping[PoolName, BundleHash]]
    bundles_hash: BundleHash | None
    bundle_config_hashes_hash: BundleHash | None
    form: HashForm
    _bundle_set: BundleSet = attrs.field(eq=False, repr=False)
    _registered: Mapping[ModelId, Registered] = attrs.field(eq=False, repr=False)
    _spellings: Mapping[str, tuple[ModelId, ...]] = attrs.field(eq=False, repr=False)
    """The ids that are one in lower case: which of them a name means must not depend on what was written last."""
    _scopes: Mapping[BundleName, Scopes] = attrs.field(eq=False, repr=False)

    @classmethod
    def of(
        cls, bundles: Iterable[Bundle], models: Iterable[Model], form: HashForm = HashForm.REFERENCE
    ) -> "RegistrySnapshot":
        return _snapshot(BundleSet.of(bundles), models, form, {})

    @classmethod
    def empty(cls, form: HashForm = HashForm.REFERENCE) -> "RegistrySnapshot":
        return cls.of((), (), form)

    def find(self, serving_id: str) -> ServingName | None:
        """Case does not count, and `model:default` is the model (§16.1)."""
        return self.serving.get(serving_id.lower().removesuffix(f":{DEFAULT_PROFILE}"))

    def twin_of(self, sie_id: ModelId) -> ModelId | None:
        """A model whose id is this one in another case: one look-up cannot tell them apart."""
        return next((key for key in self._spellings.get(sie_id.lower(), ()) if key != sie_id), None)

    def scoped_hash(self, bundle: BundleName, pool: PoolName) -> BundleHash | None:
        """What a worker of that bundle and queue pool must report (§7)."""
        return self.pool_hashes.get(bundle, {}).get(pool)

    def bundles_of(self, model: Model) -> tuple[BundleName, ...]:
        """Every bundle that runs any profile of the model, which need not be here, best first."""
        known = self._registered.get(model.sie_id)
        if known is not None and known.model is model:
            return tuple(known.rows)
        effective = map(model.effective, model.profiles)
        return self._bundle_set.ranked(
            b for p in effective if p is not None for b in self._bundle_set.running(p.module)
        )

    def with_model(self, model: Model) -> "RegistrySnapshot":
        """With it in place of any of its id; itself where it is there already."""
        before = self._registered.get(model.sie_id)
        if before is not None and before.is_of(model):
            return self
        known = register(model, self._bundle_set, self.form)
        models = _inserted(self.models, model.sie_id, model)
        return self._changed(model.sie_id, models, _inserted(self._registered, model.sie_id, known))

    def without_model(self, sie_id: ModelId) -> "RegistrySnapshot":
        """Itself where there is no such model."""
        if sie_id not in self._registered:
            return self
        return self._changed(sie_id, _without(self.models, sie_id), _without(self._registered, sie_id))

    def with_bundles(self, bundles: Iterable[Bundle]) -> "RegistrySnapshot":
        """These bundles and no others, for the same models."""
        return _snapshot(BundleSet.of(bundles), self.models.values(), self.form, {})

    def replacing(self, models: Iterable[Model]) -> "RegistrySnapshot":
        """These models and no others (§4), for the same bundles; those that are here already cost little."""
        return _snapshot(self._bundle_set, models, self.form, self._registered)

    def pieces(self) -> list[object]:
        """All in it that is many, for whoever would rather let go of it bit by bit than at once."""
        return [*self.models.values(), *self.serving.values(), *self._registered.values(), *self._spellings.values()]

    def _changed(
        self, sie_id: ModelId, models: Mapping[ModelId, Model], registered: Mapping[ModelId, Registered]
    ) -> "RegistrySnapshot":
        """With that one model put in, replaced or taken out."""
        before, after = self._registered.get(sie_id), registered.get(sie_id)
        touched = {name for known in (before, after) if known is not None for name in known.rows}
        scopes = {
            name: kept.changed(name, sie_id, before, after) if name in touched else kept
            for name, kept in self._scopes.items()
        }
        folded = sie_id.lower()
        twins = self._spellings.get(folded, ())
        spelt = tuple(sorted({key for key in (*twins, sie_id) if key in registered}))
        serving = dict(self.serving)
        for name in (name for key in twins for name in self._registered[key].names):
            serving.pop(name, None)
        for key in spelt:
            serving.update(registered[key].names)
        spellings = {**self._spellings, folded: spelt}
        if not spelt:
            del spellings[folded]
        return _assembled(self._bundle_set, self.form, models, registered, serving, spellings, scopes)


@attrs.define
class ModelRegistry:
    """The one attribute that readers read; `install` is a single assignment, so no reader sees half of a change."""

    snapshot: RegistrySnapshot = attrs.field(factory=RegistrySnapshot.empty)

    def install(self, snapshot: RegistrySnapshot) -> None:
        self.snapshot = snapshot


def _snapshot(
    bundles: BundleSet, models: Iterable[Model], form: HashForm, known: Mapping[ModelId, Registered]
) -> RegistrySnapshot:
    """`known` are the same bundles' and form's. Of two models with one id, the later is taken."""
    catalog = sorted({model.sie_id: model for model in models}.values(), key=attrgetter("sie_id"))
    registered = {
        model.sie_id: kept
        if (kept := known.get(model.sie_id)) is not None and kept.is_of(model)
        else register(model, bundles, form)
        for model in catalog
    }
    spellings: dict[str, tuple[ModelId, ...]] = {}
    serving: dict[str, ServingName] = {}
    for sie_id, one in registered.items():
        folded = sie_id.lower()
        spellings[folded] = (*spellings.get(folded, ()), sie_id)
        serving.update(one.names)
    scopes = {name: Scopes.of(name, registered) for name in bundles.by_name}
    by_id = {sie_id: one.model for sie_id, one in registered.items()}
    return _assembled(bundles, form, by_id, registered, serving, spellings, scopes)


def _assembled(
    bundles: BundleSet,
    form: HashForm,
    models: Mapping[ModelId, Model],
    registered: Mapping[ModelId, Registered],
    serving: Mapping[str, ServingName],
    spellings: Mapping[str, tuple[ModelId, ...]],
    scopes: Mapping[BundleName, Scopes],
) -> RegistrySnapshot:
    return RegistrySnapshot(
        bundles=bundles.by_name,
        models=models,
        serving=serving,
        hashes={name: found.whole.value for name, found in scopes.items()},
        pool_hashes={name: found.pool_hashes for name, found in scopes.items()},
        bundles_hash=bundles_hash(bundles.by_name.values()),
        bundle_config_hashes_hash=members_hash({name: found.member for name, found in scopes.items()}),
        form=form,
        bundle_set=bundles,
        registered=registered,
        spellings=spellings,
        scopes=scopes,
    )


def _inserted(sorted_map: Mapping[ModelId, T], key: ModelId, value: T) -> Mapping[ModelId, T]:
    """A copy with the value at the key's place in the order."""
    if key in sorted_map:
        return {**sorted_map, key: value}
    keys, values = list(sorted_map), list(sorted_map.values())
    at = bisect_left(keys, key)
    keys.insert(at, key)
    values.insert(at, value)
    return dict(zip(keys, values, strict=True))


def _without(there: Mapping[ModelId, T], key: ModelId) -> Mapping[ModelId, T]:
    left = dict(there)
    del left[key]
    return left
