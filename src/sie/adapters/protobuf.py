"""The protobuf wire format, as much of it as an ONNX file needs: a message's fields, in order, with their values."""

from collections.abc import Iterator

import attrs

_MOST_VARINT_BYTES = 10


class Malformed(Exception):
    """These bytes are no such message."""


@attrs.frozen
class Field:
    """`value` is an int for a varint; else the bytes, of a text, an array or a message within."""

    number: int
    value: int | memoryview


def fields(message: memoryview) -> Iterator[Field]:
    """Raises Malformed."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:  # a number
                value, at = _varint(message, at)
                yield Field(key >> 3, value)
                continue
            case 1:
                size = 8
            case 2:  # bytes of a length
                size, at = _varint(message, at)
            case 5:
                size = 4
            case other:
                raise Malformed(f"wire type {other} does not exist")
        if at + size > len(message):
            raise Malformed(f"field {key >> 3} is cut off")
        yield Field(key >> 3, message[at : at + size])
        at += size


def text(value: int | memoryview) -> str:
    """Raises Malformed."""
    if isinstance(value, int):
        raise Malformed(f"a text is expected, not {value}")
    try:
        return bytes(value).decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"a text is not UTF-8: {error}") from error


def integers(value: int | memoryview) -> list[int]:
    """One, or several packed together. Raises Malformed."""
    if isinstance(value, int):
        return [value]
    found, at = list[int](), 0
    while at < len(value):
        one, at = _varint(value, at)
        found.append(one)
    return found


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """The number and where it ends."""
    value = 0
    for shift, byte in enumerate(message[at : at + _MOST_VARINT_BYTES]):
        value |= (byte & 127) << (7 * shift)
        if byte < 128:
            return value, at + shift + 1
    raise Malformed("a number is cut off")
