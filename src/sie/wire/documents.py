"""Bundle and model documents as people write them in YAML (wire-facts 3.6), read into the domain's values.

Unknown fields are refused with their place. YAML is read with safe types only, and without
aliases: a page of them can expand to gigabytes.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeVar

import attrs
import yaml

from sie.domain import ids
from sie.domain.bundle import DEFAULT_ENGINE, DEFAULT_PRIORITY, Bundle
from sie.domain.model import EncodeOutput, Json, Model, Precision, Profile
from sie.wire.converters import EXACT, WireError, structure

T = TypeVar("T")

MAX_NESTING = 64
"""Levels of maps and lists in one document: far more than any needs, far fewer than exhaust the stack."""
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")


@attrs.frozen
class BundleDocument:
    name: str | None = None
    priority: int = DEFAULT_PRIORITY
    adapters: tuple[str, ...] = ()
    default: bool = False
    engine: Literal["pytorch", "candle"] = DEFAULT_ENGINE
    deps: object = None
    source: str | None = None


@attrs.frozen
class Width:
    dim: int = 0


@attrs.frozen
class EncodeTask:
    dense: Width | None = None
    sparse: Width | None = None
    multivector: Width | None = None


@attrs.frozen
class Tasks:
    encode: EncodeTask | None = None
    score: Mapping[str, object] | None = None
    extract: Mapping[str, object] | None = None
    generate: Mapping[str, object] | None = None


@attrs.frozen
class Inputs:
    text: bool = True
    image: bool = False
    audio: bool = False
    video: bool = False
    document: bool = False


@attrs.frozen
class ProfileDocument:
    extends: str | None = None
    max_batch_tokens: int | None = None
    compute_precision: Precision | None = None
    adapter_path: str | None = None
    adapter_options: Mapping[str, object] | None = None
    adaptive_batching: Mapping[str, object] | None = None
    kv_budget_tokens: int | None = None
    admission_enabled: bool | None = None
    max_output_tokens: int | None = None
    chat_template_kwargs: Mapping[str, object] | None = None
    grammar_profile: str | None = None


@attrs.frozen
class ModelDocument:
    sie_id: str
    profiles: Mapping[str, ProfileDocument]
    hf_id: str | None = None
    hf_revision: str | None = None
    hf_tokenizer_dependencies: Mapping[str, str] = attrs.field(factory=dict)
    weights_path: str | None = None
    package_backed: bool = False
    remote_backed: bool = False
    routing: Mapping[str, object] | None = None
    pool: str | None = None
    inputs: Inputs = Inputs()
    tasks: Tasks = Tasks()
    max_sequence_length: int | None = None


def load_yaml(text: str) -> object:
    """One YAML document of JSON types. Raises WireError."""
    try:
        aliased = any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.CSafeLoader))
        value: object = None if aliased else yaml.load(text, Loader=yaml.CSafeLoader)
    except Exception as error:  # PyYAML's own, and whatever its constructors met (`2020-13-45`, `!!bool x`)
        raise WireError.at(message=f"not a YAML document: {error}") from error
    if aliased:
        raise WireError.at(message="YAML aliases are not taken")
    return as_json(value)


def as_json(value: object, *loc: str | int) -> Json:
    """The same value, known to be JSON that every peer can read: YAML also has dates, sets, keys that are not strings,
    numbers without end and integers without bound. Raises WireError with the place.
    """
    if len(loc) > MAX_NESTING:
        raise WireError.at(*loc, message=f"is nested more than {MAX_NESTING} deep")
    match value:
        case None | bool() | int() | float() | str():
            _check_scalar(value, loc)
            return value
        case list():
            return [as_json(item, *loc, index) for index, item in enumerate(value)]
        case Mapping():
            return {_key(key, loc): as_json(item, *loc, str(key)) for key, item in value.items()}
        case _:
            raise WireError.at(*loc, message=f"a {type(value).__name__} is no JSON value")


def parse_bundle(text: str, *, stem: str) -> Bundle:
    """`stem` names a bundle whose document does not (wire-facts 3.6). Raises WireError."""
    document = structure(EXACT, load_yaml(text), BundleDocument)
    name = _named(ids.bundle_name, document.name or stem, "name")
    return Bundle(name, document.adapters, document.priority, document.engine)


def parse_model(text: str) -> Model:
    """Raises WireError."""
    return model_of(load_yaml(text))


def model_of(config: object) -> Model:
    """A model from its parsed document, as the export carries it. Raises WireError."""
    document = structure(EXACT, as_json(config), ModelDocument)
    return Model(
        sie_id=_named(ids.model_id, document.sie_id, "sie_id"),
        profiles={_named(ids.profile_name, n, "profiles", n): _profile(n, p) for n, p in document.profiles.items()},
        hf_id=document.hf_id,
        hf_revision=document.hf_revision,
        weights_path=document.weights_path,
        pool=_named(ids.pool_name, (document.pool or "").strip() or ids.DEFAULT_POOL, "pool"),
        inputs=tuple(name for name, on in attrs.asdict(document.inputs).items() if on),
        encode_dims=dict(_encode_dims(document.tasks.encode)),
        scores=document.tasks.score is not None,
        extracts=document.tasks.extract is not None,
        max_sequence_length=document.max_sequence_length,
    )


def _profile(name: str, document: ProfileDocument) -> Profile:
    options = document.adapter_options
    return Profile(
        adapter_path=document.adapter_path,
        max_batch_tokens=document.max_batch_tokens,
        compute_precision=document.compute_precision,
        options=None if options is None else _json_map(options, "profiles", name, "adapter_options"),
        extends=_named(ids.profile_name, document.extends, "profiles", name, "extends") if document.extends else None,
    )


def _encode_dims(task: EncodeTask | None) -> Iterator[tuple[EncodeOutput, int]]:
    outputs: tuple[EncodeOutput, ...] = ("dense", "sparse", "multivector")
    for name in outputs:
        width: Width | None = getattr(task, name, None)
        if width is not None:
            yield name, width.dim


def _json_map(value: Mapping[str, object], *loc: str | int) -> Mapping[str, Json]:
    return {key: as_json(item, *loc, key) for key, item in value.items()}


def _key(key: object, loc: tuple[str | int, ...]) -> str:
    if not isinstance(key, str):
        raise WireError.at(*loc, message=f"the key {key!r} must be a string")
    _check_scalar(key, loc)
    return key


def _check_scalar(value: object, loc: tuple[str | int, ...]) -> None:
    if isinstance(value, int) and not _INT_MIN <= value <= _INT_MAX:
        raise WireError.at(*loc, message="an integer must fit in 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise WireError.at(*loc, message=f"{value} is no JSON number")
    if isinstance(value, str) and _SURROGATE.search(value):
        raise WireError.at(*loc, message="a string must not hold lone surrogates")


def _named(make: Callable[[str], T], text: str, *loc: str | int) -> T:
    """The id that `make` checks, with a refusal told at its place in the document."""
    try:
        return make(text)
    except ids.InvalidId as error:
        raise WireError.at(*loc, message=str(error)) from error
