"""What does a bundle or model document say to the domain (wire-facts 3.6)? Read as JSON, from YAML or the export.

Reading is tolerant of what it does not use, since newer and published services write it too; `model_schema` says what
may be written.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeVar, get_args

import attrs

from sie.domain import ids
from sie.domain.bundle import CANDLE_ADAPTERS, DEFAULT_ENGINE, DEFAULT_PRIORITY, Bundle, misplaced_adapters
from sie.domain.model import EncodeOutput, Json, Model, Precision, Profile
from sie.wire.converters import TOLERANT, WireError, kind_of, structure
from sie.wire.json_value import MAX_NESTING, as_json
from sie.wire.yaml_reading import load_yaml

__all__ = ["MAX_NESTING", "as_json", "load_yaml", "model_of", "parse_bundle", "parse_model"]

T = TypeVar("T")
V = TypeVar("V")
Config = Mapping[str, Json]

_INPUTS: Config = {"text": True, "image": False, "audio": False, "video": False, "document": False}


@attrs.frozen
class BundleDocument:
    """`default` and `deps` concern those who build and deploy."""

    name: str | None = None
    priority: int = DEFAULT_PRIORITY
    adapters: tuple[str, ...] = ()
    default: bool = False
    engine: Literal["pytorch", "candle"] = DEFAULT_ENGINE


def parse_bundle(text: str, *, stem: str) -> Bundle:
    """`stem` names a bundle whose document does not (wire-facts 3.6). Raises WireError."""
    document = structure(TOLERANT, load_yaml(text), BundleDocument)
    name = _named(ids.bundle_name, document.name or stem, "name")
    misplaced = misplaced_adapters(document.engine, document.adapters)
    if misplaced:
        rule = "cannot list" if document.engine == DEFAULT_ENGINE else "lists only"
        message = f"a {document.engine} bundle {rule} {CANDLE_ADAPTERS}…: {', '.join(misplaced)}"
        raise WireError.at("adapters", message=message)
    return Bundle(name, document.adapters, document.priority, document.engine)


def parse_model(text: str) -> Model:
    """Raises WireError."""
    return model_of(load_yaml(text))


def model_of(config: object) -> Model:
    """A model from its parsed document, as the export carries it; old seeds have `name` as the id. Raises WireError."""
    document = _map(as_json(config))
    tasks = _field(document, "tasks", dict, {})
    return Model(
        sie_id=_named(ids.model_id, _sie_id(document), "sie_id"),
        profiles=dict(_profiles(document)),
        hf_id=_field(document, "hf_id", str, None),
        hf_revision=_field(document, "hf_revision", str, None),
        weights_path=_field(document, "weights_path", str, None),
        pool=_named(ids.pool_name, _field(document, "pool", str, "").strip() or ids.DEFAULT_POOL, "pool"),
        inputs=tuple(_inputs(_field(document, "inputs", dict, {}))),
        encode_dims=dict(_encode_dims(_field(tasks, "encode", dict, {}, "tasks"))),
        scores=tasks.get("score") is not None,
        extracts=tasks.get("extract") is not None,
        max_sequence_length=_field(document, "max_sequence_length", int, None),
    )


def _sie_id(document: Config) -> str:
    found = _field(document, "sie_id", str, "") or _field(document, "name", str, "")
    if not found:
        raise WireError.at("sie_id", message="is required")
    return found


def _profiles(document: Config) -> Iterator[tuple[ids.ProfileName, Profile]]:
    for name, profile in _field(document, "profiles", dict, {}).items():
        loc = ("profiles", name)
        yield _named(ids.profile_name, name, *loc), _profile(_map(profile, *loc), loc)


def _profile(document: Config, loc: tuple[str, ...]) -> Profile:
    options = document.get("adapter_options")
    extends = _field(document, "extends", str, "", *loc)
    return Profile(
        adapter_path=_field(document, "adapter_path", str, None, *loc),
        max_batch_tokens=_field(document, "max_batch_tokens", int, None, *loc),
        compute_precision=_precision(document.get("compute_precision"), loc),
        options=options if isinstance(options, Mapping) else None,
        extends=_named(ids.profile_name, extends, *loc, "extends") if extends else None,
        odd_options=None if isinstance(options, Mapping) else options,
    )


def _precision(value: Json, loc: tuple[str, ...]) -> Precision | None:
    names: tuple[Precision, ...] = get_args(Precision)
    for name in names:
        if value == name:
            return name
    if value is not None:
        message = f"must be one of {', '.join(names)}, not {value!r}"
        raise WireError.at(*loc, "compute_precision", message=message)
    return None


def _inputs(document: Config) -> Iterator[str]:
    for name, default in _INPUTS.items():
        if _field(document, name, bool, default, "inputs"):
            yield name


def _encode_dims(document: Config) -> Iterator[tuple[EncodeOutput, int]]:
    outputs: tuple[EncodeOutput, ...] = get_args(EncodeOutput)
    for name in outputs:
        if document.get(name) is not None:
            width = _map(document[name], "tasks", "encode", name)
            yield name, _field(width, "dim", int, 0, "tasks", "encode", name)


def _field(document: Config, key: str, kind: type[T], default: V, *loc: str) -> T | V:
    """The value of that type there; a missing one and null are the default."""
    value = document.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise WireError.at(*loc, key, message=f"must be {kind_of(kind())}, not {kind_of(value)}")
    return value


def _map(value: Json, *loc: str) -> Config:
    if not isinstance(value, Mapping):
        raise WireError.at(*loc, message=f"must be a map, not {kind_of(value)}")
    return value


def _named(make: Callable[[str], T], text: str, *loc: str | int) -> T:
    """The id that `make` checks, with a refusal told at its place in the document."""
    try:
        return make(text)
    except ids.InvalidId as error:
        raise WireError.at(*loc, message=str(error)) from error
