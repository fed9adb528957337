"""One input as a client sends it (wire-facts 1.2): text, media, or both. Checked here, and media made bytes.

In JSON the bytes of media are base64; from here on they are bytes, as workers take them (§2).
"""

from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from sie.wire.converters import WireError, kind_of

MAX_TEXT_BYTES = 2 * 1024 * 1024
"""UTF-8 bytes of one item's text (wire-facts 1.2)."""
MEDIA = ("audio", "video", "document")
CONTENT = ("text", "images", *MEDIA)
"""An item holds at least one of them."""
Item: TypeAlias = Mapping[str, object]
Loc: TypeAlias = tuple[str | int, ...]


def checked_item(value: object, loc: Loc, *, is_json: bool) -> Item:
    """The item with its media as bytes. Raises WireError, naming the field."""
    if type(value) is dict and _is_plain_text(value):
        return value
    if not isinstance(value, Mapping):
        raise WireError.at(*loc, message=f"must be a map, not {kind_of(value)}")
    item: Item = value
    if all(item.get(part) is None for part in CONTENT):
        raise WireError.at(*loc, "text", message=f"is required, or one of {', '.join(CONTENT[1:])}")
    _check_text(item.get("text"), (*loc, "text"))
    if not isinstance(item.get("id"), str | None):
        raise WireError.at(*loc, "id", message="must be a string")
    media = dict(_media(item, loc, is_json))
    return {**item, **media} if media else item


def checked_items(values: Sequence[object], name: str, *, is_json: bool) -> tuple[Item, ...]:
    return tuple([checked_item(value, (name, index), is_json=is_json) for index, value in enumerate(values)])


def _is_plain_text(item: dict[str, object]) -> bool:
    """It has a short text and nothing else that is looked at, so that there is nothing to find fault with."""
    text = item.get("text")
    if type(text) is not str or not text.isascii() or len(text) > MAX_TEXT_BYTES:
        return False
    return len(item) == 1 or (len(item) == 2 and (type(item.get("id")) is str or item.get("id", "") is None))


def _check_text(text: object, loc: Loc) -> None:
    if text is None:
        return
    if not isinstance(text, str):
        raise WireError.at(*loc, message=f"must be a string, not {kind_of(text)}")
    if text.isascii():
        size = len(text)
    else:
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise WireError.at(*loc, message="must not hold lone surrogates") from error
    if size > MAX_TEXT_BYTES:
        raise WireError.at(*loc, message=f"must be at most {MAX_TEXT_BYTES} bytes of UTF-8, not {size}")


def _media(item: Item, loc: Loc, is_json: bool) -> Iterator[tuple[str, object]]:
    images = item.get("images")
    if images is not None:
        if not isinstance(images, list | tuple):
            raise WireError.at(*loc, "images", message=f"must be a list, not {kind_of(images)}")
        yield "images", [_medium(image, (*loc, "images", index), is_json) for index, image in enumerate(images)]
    for name in MEDIA:
        if item.get(name) is not None:
            yield name, _medium(item[name], (*loc, name), is_json)


def _medium(value: object, loc: Loc, is_json: bool) -> Item:
    if not isinstance(value, Mapping):
        raise WireError.at(*loc, message=f"must be a map, not {kind_of(value)}")
    data = value.get("data")
    return {**value, "data": _base64(data, (*loc, "data")) if is_json else _bytes(data, (*loc, "data"))}


def _base64(data: object, loc: Loc) -> bytes:
    if not isinstance(data, str):
        raise WireError.at(*loc, message=f"must be a string of base64, not {kind_of(data)}")
    try:
        return b64decode(data, validate=True)
    except (BadBase64, ValueError) as error:
        raise WireError.at(*loc, message=f"must be base64: {error}") from error


def _bytes(data: object, loc: Loc) -> bytes:
    if not isinstance(data, bytes):
        raise WireError.at(*loc, message=f"must be bytes, not {kind_of(data)}")
    return data
