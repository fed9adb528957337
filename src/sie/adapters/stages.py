"""A network in the three pieces that are compiled: entering, one layer, leaving.

Layers are alike, so one compiled layer serves them all with their own weights. That is a sixth of the code to compile,
to load at a start and to warm up for a network of six layers; the extra calls cost under a millisecond a batch.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import attrs
import jax
import numpy as np
from jax.stages import Compiled
from numpy.typing import NDArray

from sie.adapters.api import Footprint
from sie.adapters.packing import Bucket

FLOAT_BYTES = 4
Shapes = Mapping[str, tuple[int, ...]]
# (weights, tokens [4, rows, length]) to (states [rows, length, hidden], bias)
Enter = Callable[[Sequence[jax.Array], jax.Array], tuple[jax.Array, jax.Array]]
# (weights, states, bias) to states
Layer = Callable[[Sequence[jax.Array], jax.Array, jax.Array], jax.Array]
# (weights, states, tokens) to an answer for each segment or each token: [rows, segments or length, ...]
Leave = Callable[[Sequence[jax.Array], jax.Array, jax.Array], jax.Array]


@attrs.frozen
class Layout:
    """The published name and shape of each weight that a stage takes, in its order. Layers differ in names alone."""

    enter: Shapes
    layers: tuple[Shapes, ...]
    leave: Shapes

    @property
    def shapes(self) -> Shapes:
        return {name: shape for part in (self.enter, *self.layers, self.leave) for name, shape in part.items()}

    @property
    def weight_bytes(self) -> int:
        """On the device, as float32."""
        return sum(FLOAT_BYTES * math.prod(shape) for shape in self.shapes.values())


@attrs.frozen
class Head:
    """What a task puts behind a network: `leave`, and the weights that it takes, by their published names.

    `unused` are further names that a checkpoint for this task may hold; `made_from` is what the program depends on.
    """

    leave: Leave
    made_from: str
    shapes: Shapes = attrs.field(factory=dict)
    unused: frozenset[str] = frozenset()


@attrs.frozen
class Stages:
    """A network as functions, not yet compiled."""

    layout: Layout
    enter: Enter
    layer: Layer
    leave: Leave


@attrs.frozen
class Weights:
    """On the device, in the order of a layout."""

    enter: Sequence[jax.Array]
    layers: tuple[Sequence[jax.Array], ...]
    leave: Sequence[jax.Array]

    @property
    def footprint(self) -> Footprint:
        """What batches need on top is not counted. A CPU does not tell what it has."""
        arrays = {id(array): array for part in (self.enter, *self.layers, self.leave) for array in part}.values()
        stats = next(iter(self.enter[0].devices())).memory_stats() or {}
        return Footprint(sum(array.nbytes for array in arrays), stats.get("bytes_limit", 0))


@attrs.frozen
class Program:
    """The compiled stages of one bucket."""

    enter: Compiled
    layer: Compiled
    leave: Compiled

    def __call__(self, weights: Weights, tokens: NDArray[np.int32]) -> jax.Array:
        """Dispatched, not awaited."""
        states, bias = self.enter(weights.enter, tokens)
        for layer in weights.layers:
            states = self.layer(layer, states, bias)
        answers: jax.Array = self.leave(weights.leave, states, tokens)
        return answers


Programs = Mapping[Bucket, Program]
