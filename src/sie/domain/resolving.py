"""Which bundle would serve `[bundle:/]model[:profile]` (§5, wire-facts 3.2)? The request's spelling is echoed.

Both services answer it from their own snapshot, each in its own envelope.
"""

from collections.abc import Mapping
from typing import Literal

import attrs

from sie.domain.ids import DEFAULT_PROFILE, ModelId
from sie.domain.model_spec import InvalidSpec, parse_spec
from sie.domain.registry import RegistrySnapshot

Fault = Literal["body", "field", "spec", "model", "bundle"]
"""The body is no map, it names no model, its spec has no form, nothing has the name, or the model runs elsewhere."""
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
    """`extra` stands beside the words in the answer."""

    fault: Fault
    words: str
    extra: Mapping[str, object] = _NOTHING


def resolve(snapshot: RegistrySnapshot, asked: object) -> Resolved | Unresolved:
    """`asked` is the request's JSON: `model`, and `bundle` for where the spec names none."""
    if not isinstance(asked, Mapping):
        return Unresolved("body", "Expected JSON object at top level")
    named = asked.get("model")
    if not isinstance(named, str) or not named:
        return Unresolved("field", "'model' field is required")
    try:
        spec = parse_spec(named)
    except InvalidSpec as error:
        return Unresolved("spec", str(error))
    bundle = asked.get("bundle") if spec.bundle is None else spec.bundle
    return _resolve(snapshot, spec.serving_id, bundle if isinstance(bundle, str) and bundle else None)


def profiles_of(snapshot: RegistrySnapshot, serving_id: str) -> tuple[str, ...]:
    """A model's own by its exact spelling, as the published service tells them; a variant has the one that it is."""
    model = snapshot.models.get(ModelId(serving_id))
    if model is not None:
        return tuple(sorted(model.profiles))
    name = snapshot.find(serving_id)
    return (str(DEFAULT_PROFILE),) if name is not None and name.profile != DEFAULT_PROFILE else ()


def _resolve(snapshot: RegistrySnapshot, serving_id: str, bundle: str | None) -> Resolved | Unresolved:
    name = snapshot.find(serving_id)
    if name is None:
        return Unresolved("model", f"Model not found: {serving_id}", {"model": serving_id})
    fitting = tuple(map(str, name.bundles))
    if bundle is not None and bundle not in fitting:
        words = f"Bundle '{bundle}' does not support model '{serving_id}'. Compatible bundles: {list(fitting)}"
        return Unresolved("bundle", words, {"model": serving_id, "bundle": bundle, "compatible_bundles": fitting})
    return Resolved(serving_id, bundle or fitting[0], fitting, profiles_of(snapshot, serving_id))
