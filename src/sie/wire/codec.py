"""msgpack as every message of the system is written and read: str and bytes kept apart, nothing executable."""

import msgpack

from sie.wire.converters import WireError


def pack(value: object) -> bytes:
    """Raises WireError on what msgpack has no form for: a lone surrogate, an integer over 64 bits, a deep nest."""
    try:
        packed: bytes = msgpack.packb(value, use_bin_type=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise WireError.at(message=f"has no msgpack form: {error}") from error
    return packed


def unpack(data: bytes) -> object:
    """Maps may have bytes keys (arrays do, wire-facts 1.4). Raises WireError."""
    try:
        value: object = msgpack.unpackb(data, raw=False, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise WireError.at(message=f"not a msgpack document: {_why(error)}") from error
    return value


def _why(error: Exception) -> str:
    """msgpack gives some of its errors no words."""
    match error:
        case msgpack.StackError():
            return "it is nested deeper than 1024 values"
        case msgpack.FormatError():
            return "it holds a byte that begins no value"
        case _:
            return str(error) or type(error).__name__


def is_plain(value: object, depth: int = 32) -> bool:
    """Made of what JSON has and bytes, with texts as keys, and no deeper than that: one form in every library.

    msgpack's own classes for extensions are tuples too, which another library writes as lists.
    """
    kind = type(value)
    if kind in _SCALARS:
        return True
    if not depth:
        return False
    if kind is dict:
        assert isinstance(value, dict)
        for key, inner in value.items():
            if type(key) is not str or not (type(inner) in _SCALARS or is_plain(inner, depth - 1)):
                return False
        return True
    if kind is list:
        assert isinstance(value, list)
        return all(type(v) in _SCALARS or is_plain(v, depth - 1) for v in value)
    return False


_SCALARS = frozenset({str, int, float, bool, bytes, type(None)})
