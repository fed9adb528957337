"""What does a request name: `[bundle:/]org/model[:profile]` (§2, §16.1)? The bundle in lower case, and the rest."""

import attrs

_BUNDLE_MARK = ":/"


@attrs.frozen
class ModelSpec:
    """`bundle` is None where the spec leaves the choice to priority."""

    bundle: str | None
    serving_id: str


class InvalidSpec(ValueError):
    """A spec that names no model; the message says which part is missing."""


def parse_spec(text: str) -> ModelSpec:
    """Raises InvalidSpec."""
    if not text.strip():
        raise InvalidSpec("a model spec must not be empty")
    bundle, mark, serving_id = text.partition(_BUNDLE_MARK)
    if not mark:
        return ModelSpec(None, text)
    if not bundle or not serving_id:
        part = "bundle" if not bundle else "model"
        raise InvalidSpec(f"the {part} part of the model spec {text!r} must not be empty")
    return ModelSpec(bundle.lower(), serving_id)
