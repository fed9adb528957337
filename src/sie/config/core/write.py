"""What would a write do (§3)? The catalogue and the stored text against what was sent: a refusal, nothing, or a plan.

Pure: the plan holds the catalogue as it will be, and the one text to persist. The order of the checks is the published
service's (wire-facts 3.3 and 3.4).
"""

from collections.abc import Iterable, Mapping

import attrs

from sie.config.core.catalog import Catalog, Config, StoredModel, parse_config
from sie.config.core.checks import Wrong, check_new, check_reach, check_replacement, with_canonical_pool
from sie.config.core.merge import PROFILES, Conflict, Merged, append, is_same, profiles_of
from sie.domain.ids import DEFAULT_POOL, BundleName, ModelId, ProfileName
from sie.domain.model import Model
from sie.wire.converters import WireError
from sie.wire.yaml_text import dump_yaml


@attrs.frozen
class Invalid:
    """422: what is sent cannot be served, a line for each reason."""

    reasons: tuple[str, ...]


@attrs.frozen
class Conflicting:
    """409: what is there stands."""

    conflict: Conflict


@attrs.frozen
class Unchanged:
    """Everything that was sent is there; `skipped` are the profiles named again."""

    skipped: tuple[str, ...] = ()


@attrs.frozen
class Change:
    """One model's text as it is to be persisted; None takes it away."""

    model_id: ModelId
    text: str | None


@attrs.frozen
class WritePlan:
    """`affected` are the bundles to be told, in alphabetical order; `routable` those of each profile in `created`."""

    change: Change
    catalog: Catalog
    created: tuple[str, ...]
    skipped: tuple[str, ...]
    affected: tuple[BundleName, ...]
    routable: Mapping[str, tuple[BundleName, ...]]


SPELT_OTHERWISE = Conflict((), ("sie_id",))
"""A model of this id in another case is there, and look-up ignores case: one of the two could never be asked for."""

Decision = Invalid | Conflicting | Unchanged | WritePlan


def plan_append(catalog: Catalog, stored_text: str | None, incoming: Config) -> Decision:
    """POST. `stored_text` is what the store holds of the model, which may be behind the catalogue."""
    incoming = with_canonical_pool(incoming)
    held = _held(catalog, incoming)
    there = with_canonical_pool(held.config) if held is not None else {}
    wrong = check_new(catalog.snapshot, there, incoming)
    if isinstance(wrong, Wrong):
        return Invalid(wrong.reasons)
    if _has_twin(catalog, incoming):
        return Conflicting(SPELT_OTHERWISE)
    served, kept = append(there, incoming), append(_kept(stored_text, there), incoming)
    for merged in (served, kept):
        if isinstance(merged, Conflict):
            return Conflicting(merged)
    wrong = check_reach(catalog.snapshot, there, incoming)
    if wrong is not None:
        return Invalid(wrong.reasons)
    assert isinstance(served, Merged)
    assert isinstance(kept, Merged)
    if not served.created:
        return Unchanged(served.skipped)
    profiles = {**profiles_of(there), **profiles_of(kept.config)}
    return _plan(catalog, held, {**there, **kept.config, PROFILES: profiles}, served.created, served.skipped)


def plan_replace(catalog: Catalog, incoming: Config) -> Decision:
    """PUT: the document as it is, whatever stood there. `incoming` has its sie_id."""
    incoming = with_canonical_pool(incoming)
    wrong = check_replacement(catalog.snapshot, incoming)
    if isinstance(wrong, Wrong):
        return Invalid(wrong.reasons)
    if _has_twin(catalog, incoming):
        return Conflicting(SPELT_OTHERWISE)
    held = _held(catalog, incoming)
    if held is not None and is_same(with_canonical_pool(held.config), incoming):
        return Unchanged()
    return _plan(catalog, held, incoming, tuple(sorted(profiles_of(incoming))), ())


def plan_delete(catalog: Catalog, stored_text: str | None, sie_id: ModelId) -> Unchanged | WritePlan:
    """DELETE: what was written through the API; a seed of that id is served again."""
    held = catalog.models.get(sie_id)
    if stored_text is None and (held is None or held.source == "filesystem"):
        return Unchanged()
    after = catalog.without_model(sie_id)
    seed = after.models.get(sie_id)
    return WritePlan(Change(sie_id, None), after, (), (), _affected(after, (held, seed)), {})


def _has_twin(catalog: Catalog, incoming: Config) -> bool:
    return catalog.snapshot.twin_of(ModelId(str(incoming.get("sie_id", "")))) is not None


def _kept(stored_text: str | None, there: Config) -> Config:
    """What the store holds, which may differ from what is served: when it was not restored, or somebody edited it."""
    if stored_text is None:
        return there
    try:
        return with_canonical_pool(parse_config(stored_text))
    except WireError:  # what cannot be read contradicts nobody
        return there


def _plan(
    catalog: Catalog, held: StoredModel | None, config: Config, created: tuple[str, ...], skipped: tuple[str, ...]
) -> Invalid | WritePlan:
    text = dump_yaml(config)
    try:
        after = catalog.with_model(text, config)
    except WireError as error:
        return Invalid(tuple(map(str, error.problems)))
    model = after.models[ModelId(str(config["sie_id"]))].model
    routable = {name: _routable(after, model, ProfileName(name)) for name in created}
    affected = _affected(after, (held, after.models[model.sie_id]))
    return WritePlan(Change(model.sie_id, text), after, created, skipped, affected, routable)


def _routable(catalog: Catalog, model: Model, profile: ProfileName) -> tuple[BundleName, ...]:
    name = catalog.snapshot.find(model.serving_id(profile))
    return name.bundles if name is not None else ()


def _affected(catalog: Catalog, models: Iterable[StoredModel | None]) -> tuple[BundleName, ...]:
    """Those that serve the model, or did."""
    found = {bundle for stored in models if stored is not None for bundle in catalog.snapshot.bundles_of(stored.model)}
    return tuple(sorted(found))


def _held(catalog: Catalog, incoming: Config) -> StoredModel | None:
    return catalog.models.get(ModelId(str(incoming.get("sie_id", ""))))


def pool_of(plan: WritePlan) -> str:
    stored = plan.catalog.models.get(plan.change.model_id)
    return stored.model.pool if stored is not None else DEFAULT_POOL
