"""Which sizes may a request ask of a dense vector, and what is a vector of that size (Kusupati et al., 2022)?

Only a model that was trained for it keeps its meaning in the first places of a vector, so its profile names the sizes.
Pure; the backend acts on it.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import attrs
import numpy as np

from sie.adapters.api import BadInput, LoadFailed, Vector

OPTION = "matryoshka_dimensions"
"""The runtime option of a profile; the request's own is `dimensions`."""
_LEAST_NORM = 1e-12


@attrs.frozen
class Sizes:
    """`smaller` ascend and are below `native`, the size that the network gives. `normalize` is the profile's."""

    native: int
    smaller: tuple[int, ...] = ()
    normalize: bool = True

    def choose(self, asked: object) -> int:
        """The native one where none is asked for. Raises BadInput, which names what exists."""
        if asked is None:
            return self.native
        exist = (*self.smaller, self.native)
        if type(asked) is not int or asked not in exist:
            raise BadInput(f"dimensions {asked!r} do not exist in this model; it has {', '.join(map(str, exist))}")
        return asked

    def cut(self, vector: Vector, size: int) -> Vector:
        """The first `size` places, of unit length again where the whole vector was; all of it as it is."""
        if size == self.native:
            return vector
        shorter = vector[:size]
        return shorter / max(np.linalg.norm(shorter), np.float32(_LEAST_NORM)) if self.normalize else shorter


@runtime_checkable
class Resizable(Protocol):
    """An encoder with dense vectors of several sizes, or of one that a request may name."""

    @property
    def dense_sizes(self) -> Sizes: ...


def parse_sizes(runtime: Mapping[str, object], *, native: int, normalize: bool) -> Sizes:
    """Raises LoadFailed(CONFIG)."""
    listed = runtime.get(OPTION)
    sizes = [] if listed is None else listed
    if not isinstance(sizes, list | tuple) or not all(type(size) is int and 0 < size <= native for size in sizes):
        message = f"runtime.{OPTION} must be a list of sizes from 1 to {native}, not {listed!r}"
        raise LoadFailed(message, error_class="CONFIG", permanent=True)
    return Sizes(native, tuple(sorted({size for size in sizes if size < native})), normalize)
