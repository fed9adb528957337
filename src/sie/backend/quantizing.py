"""The numbers of a vector in the dtype that a client asks for (wire-facts 1.5). Pure."""

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from sie.adapters.api import OutputDtype, Vector

_MOST_INT8 = 127
_MOST_UINT8 = 255
_CONSTANT_UINT8 = 128
"""A row that has no range has nothing to say, in the middle."""


def quantized(vectors: Vector, dtype: OutputDtype) -> NDArray[np.generic]:
    """Row by row along the last axis; binary and ubinary pack eight places into a byte, the first one highest."""
    match dtype:
        case "float32":
            return vectors
        case "float16":
            return _to_float16(vectors)
        case "int8":
            return _to_int8(vectors)
        case "uint8":
            return _to_uint8(vectors)
        case "binary" | "ubinary":
            return np.packbits(vectors > 0, axis=-1)
        case other:
            assert_never(other)


def told_dtype(dtype: OutputDtype) -> str:
    """What the reply says: both packed forms are `binary` there."""
    return "binary" if dtype == "ubinary" else dtype


def sparse_dtype(dtype: OutputDtype) -> OutputDtype:
    """The weights of a sparse vector have no other forms."""
    return "float16" if dtype == "float16" else "float32"


def _to_float16(vectors: Vector) -> NDArray[np.float16]:
    """What is too large for it becomes the largest."""
    most = np.finfo(np.float16).max
    return np.clip(vectors, -most, most).astype(np.float16)


def _to_int8(vectors: Vector) -> NDArray[np.int8]:
    scale = np.abs(vectors).max(axis=-1, keepdims=True, initial=0)
    return np.round(vectors / np.where(scale > 0, scale, 1) * _MOST_INT8).astype(np.int8)


def _to_uint8(vectors: Vector) -> NDArray[np.uint8]:
    if not vectors.shape[-1]:
        return vectors.astype(np.uint8)
    low = vectors.min(axis=-1, keepdims=True).astype(np.float64)  # the range of finite floats may exceed theirs
    extent = vectors.max(axis=-1, keepdims=True) - low
    scaled = np.round((vectors - low) / np.where(extent > 0, extent, 1) * _MOST_UINT8)
    return np.where(extent > 0, scaled, _CONSTANT_UINT8).astype(np.uint8)
