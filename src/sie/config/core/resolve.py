"""Which bundle would serve `[bundle:/]model[:profile]` (wire-facts 3.2)? The request's spelling is echoed."""

from collections.abc import Mapping

import attrs

from sie.config.core.catalog import Catalog
from sie.domain.errors import ErrorCode
from sie.domain.ids import DEFAULT_PROFILE, ModelId
from sie.domain.model_spec import InvalidSpec, parse_spec

_NOTHING: Mapping[str, object] = {}


@attrs.frozen
class Resolved:
    """`profiles` is empty where the name is spelt in another case than the model's own."""

    model: str
    resolved_bundle: str
    compatible_bundles: tuple[str, ...]
    profiles: tuple[str, ...]


@attrs.frozen
class Unresolved:
    code: ErrorCode
    words: str
    extra: Mapping[str, object] = _NOTHING


def resolve(catalog: Catalog, asked: object) -> Resolved | Unresolved:
    """`asked` is the request's JSON: `model`, and `bundle` for where the spec names none."""
    if not isinstance(asked, Mapping):
        return Unresolved(ErrorCode.CONFIG_PARSE_ERROR, "Expected JSON object at top level")
    named = asked.get("model")
    if not isinstance(named, str) or not named:
        return Unresolved(ErrorCode.CONFIG_MISSING_FIELD, "'model' field is required")
    try:
        spec = parse_spec(named)
    except InvalidSpec as error:
        return Unresolved(ErrorCode.CONFIG_INVALID_MODEL_SPEC, str(error))
    bundle = asked.get("bundle") if spec.bundle is None else spec.bundle
    return _resolve(catalog, spec.serving_id, bundle if isinstance(bundle, str) and bundle else None)


def _resolve(catalog: Catalog, serving_id: str, bundle: str | None) -> Resolved | Unresolved:
    name = catalog.snapshot.find(serving_id)
    if name is None:
        words = f"Model not found: {serving_id}"
        return Unresolved(ErrorCode.CONFIG_MODEL_NOT_FOUND, words, {"model": serving_id})
    fitting = tuple(map(str, name.bundles))
    if bundle is not None and bundle not in fitting:
        words = f"Bundle '{bundle}' does not support model '{serving_id}'. Compatible bundles: {list(fitting)}"
        extra = {"model": serving_id, "bundle": bundle, "compatible_bundles": fitting}
        return Unresolved(ErrorCode.CONFIG_BUNDLE_CONFLICT, words, extra)
    return Resolved(serving_id, bundle or fitting[0], fitting, _profiles(catalog, serving_id))


def _profiles(catalog: Catalog, serving_id: str) -> tuple[str, ...]:
    """Told by exact spelling, as the published service does: a variant has the one that it is."""
    stored = catalog.models.get(ModelId(serving_id))
    if stored is not None:
        return tuple(sorted(stored.model.profiles))
    name = catalog.snapshot.find(serving_id)
    is_variant = name is not None and name.model.serving_id(name.profile) == serving_id
    return (str(DEFAULT_PROFILE),) if is_variant else ()
