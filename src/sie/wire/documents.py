"""Bundle and model documents as people write them in YAML (wire-facts 3.6), read into the domain's values.

Unknown fields are refused with their place. YAML is read with safe types only, and without
aliases: a page of them can expand to gigabytes.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import attrs
import yaml

from sie.domain import ids
from sie.domain.bundle import DEFAULT_ENGINE, DEFAULT_PRIORITY, Bundle
from sie.domain.model import EncodeOutput, Json, Model, Precision, Profile
from sie.wire.converters import EXACT, WireError, structure


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
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.CSafeLoader)):
            raise WireError.at(message="YAML aliases are not taken")
        return as_json(yaml.load(text, Loader=yaml.CSafeLoader))
    except yaml.YAMLError as error:
        raise WireError.at(message=f"not a YAML document: {error}") from error


def as_json(value: object, *loc: str | int) -> Json:
    """The same value, known to be JSON: YAML also has dates, sets and keys that are not strings."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [as_json(item, *loc, index) for index, item in enumerate(value)]
        case dict():
            return {_key(key, loc): as_json(item, *loc, str(key)) for key, item in value.items()}
        case _:
            raise WireError.at(*loc, message=f"a {type(value).__name__} is no JSON value")


def parse_bundle(text: str, *, stem: str) -> Bundle:
    """`stem` names a bundle whose document does not (wire-facts 3.6). Raises WireError."""
    document = structure(EXACT, load_yaml(text), BundleDocument)
    with _ids_placed():
        name = ids.bundle_name(document.name or stem)
    return Bundle(name, document.adapters, document.priority, document.engine)


def parse_model(text: str) -> Model:
    """Raises WireError."""
    return model_of(load_yaml(text))


def model_of(config: object) -> Model:
    """A model from its parsed document, as the export carries it. Raises WireError."""
    document = structure(EXACT, config, ModelDocument)
    with _ids_placed():
        return Model(
            sie_id=ids.model_id(document.sie_id),
            profiles={ids.profile_name(n): _profile(n, p) for n, p in document.profiles.items()},
            hf_id=document.hf_id,
            hf_revision=document.hf_revision,
            weights_path=document.weights_path,
            pool=ids.pool_name(document.pool or ids.DEFAULT_POOL),
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
        extends=ids.profile_name(document.extends) if document.extends else None,
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
    if isinstance(key, str):
        return key
    raise WireError.at(*loc, message=f"the key {key!r} must be a string")


class _ids_placed:  # noqa: N801 -- reads as a statement
    """Tells an id that may not stand as the problem of its field."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ids.InvalidId):
            raise WireError.at(error.field, message=str(error)) from error
