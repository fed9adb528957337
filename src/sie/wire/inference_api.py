"""What clients ask of `/v1/encode`, `/v1/score` and `/v1/extract` (wire-facts 1.2). Checked down to each item.

Encode and extract read their tuning from `params` alone, score from the top level (§2).
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import attrs

from sie.wire.converters import TOLERANT, WireError, structure
from sie.wire.items import Item, checked_item, checked_items

MAX_ITEMS = 4096
"""Work items of one request (§16.2)."""
MAX_SCORE_ITEMS = 1000
MAX_LABELS = 1000
MAX_SCHEMA_DEPTH = 128
MAX_SCHEMA_VALUES = 100_000
Options: TypeAlias = Mapping[str, object]


@attrs.frozen(kw_only=True, slots=False)
class EncodeRequest:
    """`profile` is the one that the options name, whose name in the path then stands without one."""

    items: tuple[Item, ...]
    output_types: tuple[str, ...] | None = None
    instruction: str | None = None
    is_query: bool = False
    options: Options | None = None
    profile: str | None = None


@attrs.frozen(kw_only=True)
class ScoreRequest:
    query: Item
    items: tuple[Item, ...]
    instruction: str | None = None
    options: Options | None = None
    profile: str | None = None


@attrs.frozen(kw_only=True)
class ExtractRequest:
    items: tuple[Item, ...]
    labels: tuple[str, ...] | None = None
    output_schema: Mapping[str, object] | None = None
    instruction: str | None = None
    options: Options | None = None
    profile: str | None = None


InferenceRequest: TypeAlias = EncodeRequest | ScoreRequest | ExtractRequest


@attrs.frozen(kw_only=True)
class _EncodeParams:
    output_types: tuple[str, ...] | None = None
    instruction: str | None = None
    output_dtype: str | None = None
    is_query: bool | None = None
    options: Options | None = None


@attrs.frozen(kw_only=True)
class _EncodeBody:
    items: tuple[object, ...]
    params: _EncodeParams | None = None


@attrs.frozen(kw_only=True)
class _ScoreBody:
    query: object
    items: tuple[object, ...]
    instruction: str | None = None
    options: Options | None = None


@attrs.frozen(kw_only=True)
class _ExtractParams:
    labels: tuple[str, ...] | None = None
    output_schema: Mapping[str, object] | None = None
    instruction: str | None = None
    options: Options | None = None


@attrs.frozen(kw_only=True)
class _ExtractBody:
    items: tuple[object, ...]
    params: _ExtractParams | None = None


class TooManyItems(WireError):
    """Told before any of them is looked at."""


def read_encode_request(value: object, *, is_json: bool = False) -> EncodeRequest:
    """Raises WireError, naming the field; TooManyItems."""
    _check_count(value, MAX_ITEMS)
    plain = _plain_items(value)
    if plain is not None:
        return EncodeRequest(items=checked_items(plain, "items", is_json=is_json))
    body = structure(TOLERANT, value, _EncodeBody)
    params = body.params or _EncodeParams()
    return EncodeRequest(
        items=checked_items(body.items, "items", is_json=is_json),
        output_types=params.output_types,
        instruction=params.instruction,
        is_query=_is_query(params),
        options=_options(params),
        profile=_profile(params.options),
    )


def read_score_request(value: object, *, is_json: bool = False) -> ScoreRequest:
    """Raises WireError, naming the field; TooManyItems."""
    _check_count(value, MAX_SCORE_ITEMS)
    body = structure(TOLERANT, value, _ScoreBody)
    return ScoreRequest(
        query=checked_item(body.query, ("query",), is_json=is_json),
        items=checked_items(body.items, "items", is_json=is_json),
        instruction=body.instruction,
        options=body.options,
        profile=_profile(body.options),
    )


def read_extract_request(value: object, *, is_json: bool = False) -> ExtractRequest:
    """Raises WireError, naming the field; TooManyItems."""
    _check_count(value, MAX_ITEMS)
    body = structure(TOLERANT, value, _ExtractBody)
    params = body.params or _ExtractParams()
    if params.labels is not None and len(params.labels) > MAX_LABELS:
        limit = f"must hold at most {MAX_LABELS} labels, not {len(params.labels)}"
        raise WireError.at("params", "labels", message=limit)
    if params.output_schema is not None:
        _check_schema(params.output_schema)
    return ExtractRequest(
        items=checked_items(body.items, "items", is_json=is_json),
        labels=params.labels,
        output_schema=params.output_schema,
        instruction=params.instruction,
        options=params.options,
        profile=_profile(params.options),
    )


def _check_count(value: object, most: int) -> None:
    items = value.get("items") if type(value) is dict or isinstance(value, Mapping) else None
    if isinstance(items, list | tuple) and len(items) > most:
        raise TooManyItems.at("items", message=f"must hold at most {most} items, not {len(items)}")


def _plain_items(value: object) -> list[object] | None:
    """Of a body that has items and no parameters: it needs no converter."""
    if type(value) is not dict or value.get("params") is not None:
        return None
    items = value.get("items")
    return items if type(items) is list else None


def _is_query(params: _EncodeParams) -> bool:
    """A flag of its own, or as the published client sends it, inside the options (wire-facts 1.2)."""
    option = (params.options or {}).get("is_query")
    return params.is_query if params.is_query is not None else option is True


def _options(params: _EncodeParams) -> Options | None:
    """`output_dtype` has no field of its own on the queue, so it rides in the options (wire-facts 1.2)."""
    if params.output_dtype is None:
        return params.options
    return {**(params.options or {}), "output_dtype": params.output_dtype}


def _profile(options: Options | None) -> str | None:
    profile = (options or {}).get("profile")
    return profile if isinstance(profile, str) and profile else None


def _check_schema(schema: Mapping[str, object]) -> None:
    """Level by level, so that no depth of it costs a stack."""
    level: list[object] = [schema]
    depth = seen = 0
    while level:
        depth, seen = depth + 1, seen + len(level)
        if depth > MAX_SCHEMA_DEPTH or seen > MAX_SCHEMA_VALUES:
            limit = f"must hold at most {MAX_SCHEMA_VALUES} values, nested {MAX_SCHEMA_DEPTH} deep at most"
            raise WireError.at("params", "output_schema", message=f"{limit}, and has {seen} down to depth {depth}")
        level = [inner for value in level for inner in _inner(value)]


def _inner(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
