"""How an array travels: the published five-entry map with bytes keys, read with bounds (wire-facts 1.4).

A peer that looks for `"nd"` as a string finds nothing: the keys are bytes, in this order.
"""

import math
from collections.abc import Callable, Mapping
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from sie.wire.converters import WireError

MAX_DIMS = 8
_DTYPES = frozenset(
    {f"{order}{kind}" for order in "<>" for kind in ("f2", "f4", "f8", "i2", "i4", "i8", "u2", "u4", "u8")}
) | {
    "|b1",
    "|i1",
    "|u1",
}

_SCALARS = frozenset({str, int, float, bool, type(None)})
"""Most values of a document, told before the slow question whether they are a mapping."""

Array = NDArray[np.generic]


def array_to_wire(array: Array) -> Mapping[bytes, object]:
    """The map to pack for an array, in C order."""
    if array.dtype.str not in _DTYPES or array.ndim > MAX_DIMS:
        raise TypeError(f"an array of {array.dtype} with {array.ndim} dimensions has no wire form")
    return {
        b"nd": True,
        b"type": array.dtype.str,
        b"kind": b"",
        b"shape": list(array.shape),
        b"data": array.tobytes(),
    }


def array_from_wire(value: Mapping[object, object]) -> Array:
    """A NumPy scalar, whose map has no shape, is an array without dimensions.

    Raises WireError on any dtype, shape or length that the format does not allow.
    """
    kind, data = value.get(b"type"), value.get(b"data")
    shape: object = [] if value.get(b"nd") is False else value.get(b"shape")
    if value.get(b"kind") or b"complex" in value or not isinstance(kind, str) or kind not in _DTYPES:
        raise WireError.at("type", message=f"an array of type {kind!r} is not taken")
    if not _is_shape(shape):
        raise WireError.at("shape", message=f"must be at most {MAX_DIMS} lengths, not {shape!r}")
    dtype = np.dtype(kind)
    wanted = dtype.itemsize * math.prod(shape)
    if not isinstance(data, bytes) or len(data) != wanted:
        raise WireError.at("data", message=f"must be {wanted} bytes for shape {shape}")
    try:
        return np.frombuffer(data, dtype=dtype).reshape(shape)
    except ValueError as error:  # an empty array with another length beyond what numpy can index
        raise WireError.at("shape", message=f"{shape} is too large: {error}") from error


def is_array(value: object) -> bool:
    return isinstance(value, Mapping) and value.get(b"nd") is True


def _is_shape(shape: object) -> TypeGuard[list[int]]:
    return isinstance(shape, list) and len(shape) <= MAX_DIMS and all(type(n) is int and n >= 0 for n in shape)


def arrays_to_lists(value: object) -> object:
    """The JSON form of a decoded msgpack document: each array a nested list, each scalar its value."""
    return _with_arrays(value, lambda array: array.tolist())


def arrays_for_json(value: object) -> object:
    """As `arrays_to_lists`, but for arrays that orjson writes by itself, in the digits of their own precision."""
    return _with_arrays(value, lambda array: array if array.ndim and array.dtype.isnative else array.tolist())


def _with_arrays(value: object, form: Callable[[Array], object]) -> object:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, (dict, Mapping)):
        if isinstance(value.get(b"nd"), bool):
            return form(array_from_wire(value))
        return {_text(key): _with_arrays(item, form) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_arrays(item, form) for item in value]
    return value


def _text(key: object) -> str:
    if isinstance(key, str):
        return key
    return key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)
