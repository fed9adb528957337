"""`POST /v1/encode/{model}` as clients send it and read it (wire-facts 1.2 and 1.3).

A request is checked here down to each item, with the field named; results are spliced into the reply unread.
"""

from collections.abc import Iterable, Mapping, Sequence

import attrs
import msgpack

from sie.wire.codec import unpack
from sie.wire.converters import TOLERANT, WireError, structure
from sie.wire.ndarray import arrays_to_lists

MAX_ITEM_TEXT_BYTES = 2 * 1024 * 1024
"""UTF-8 bytes of one item's text (wire-facts 1.2)."""


@attrs.frozen(kw_only=True)
class EncodeParams:
    """The only place that encode reads its tuning from (§2)."""

    output_types: tuple[str, ...] | None = None
    instruction: str | None = None
    output_dtype: str | None = None
    is_query: bool | None = None
    options: Mapping[str, object] | None = None


@attrs.frozen(kw_only=True)
class EncodeBody:
    items: tuple[Mapping[str, object], ...]
    params: EncodeParams | None = None


@attrs.frozen(kw_only=True)
class EncodeRequest:
    """`items` are the client's maps, each with a checked `text`."""

    items: tuple[Mapping[str, object], ...]
    output_types: tuple[str, ...] | None
    instruction: str | None
    is_query: bool
    options: Mapping[str, object] | None


def read_encode_request(value: object) -> EncodeRequest:
    """Raises WireError, naming the field."""
    body = structure(TOLERANT, value, EncodeBody)
    params = body.params or EncodeParams()
    for index, item in enumerate(body.items):
        _check_item(index, item)
    return EncodeRequest(
        items=body.items,
        output_types=params.output_types,
        instruction=params.instruction,
        is_query=_is_query(params),
        options=_options(params),
    )


def msgpack_encode_reply(model: str, results: Sequence[bytes], errors: Sequence[Mapping[str, object]]) -> bytes:
    """`{"model", "items"[, "errors"]}` around results that are msgpack already."""
    packer = msgpack.Packer(use_bin_type=True, autoreset=False)
    packer.pack_map_header(3 if errors else 2)
    packer.pack("model")
    packer.pack(model)
    packer.pack("items")
    packer.pack_array_header(len(results))
    head: bytes = packer.bytes()
    tail = _packed_errors(errors) if errors else b""
    return b"".join((head, *results, tail))


def json_encode_reply(
    model: str, results: Iterable[bytes], errors: Sequence[Mapping[str, object]]
) -> Mapping[str, object]:
    """The same reply with arrays as nested lists."""
    reply: dict[str, object] = {"model": model, "items": [arrays_to_lists(unpack(blob)) for blob in results]}
    return {**reply, "errors": list(errors)} if errors else reply


def _packed_errors(errors: Sequence[Mapping[str, object]]) -> bytes:
    key: bytes = msgpack.packb("errors")
    rows: bytes = msgpack.packb(list(errors))
    return key + rows


def _check_item(index: int, item: Mapping[str, object]) -> None:
    text = item.get("text")
    if not isinstance(text, str):
        raise WireError.at("items", index, "text", message=f"must be a string, not {type(text).__name__}")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise WireError.at("items", index, "text", message="must not hold lone surrogates") from error
    if size > MAX_ITEM_TEXT_BYTES:
        limit = f"must be at most {MAX_ITEM_TEXT_BYTES} bytes of UTF-8, not {size}"
        raise WireError.at("items", index, "text", message=limit)
    if not isinstance(item.get("id", ""), str | None):
        raise WireError.at("items", index, "id", message="must be a string")


def _is_query(params: EncodeParams) -> bool:
    """A flag of its own, or as the published client sends it, inside the options (wire-facts 1.2)."""
    option = (params.options or {}).get("is_query")
    return params.is_query if params.is_query is not None else option is True


def _options(params: EncodeParams) -> Mapping[str, object] | None:
    """`output_dtype` has no field of its own on the queue, so it rides in the options (wire-facts 1.2)."""
    if params.output_dtype is None:
        return params.options
    return {**(params.options or {}), "output_dtype": params.output_dtype}
