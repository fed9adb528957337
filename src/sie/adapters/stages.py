"""A network in the three pieces that are compiled: entering, one layer, leaving.

Layers are alike, so one compiled layer serves them all with their own weights. That is a sixth of the code to compile,
to load at a start and to warm up for a network of six layers; the extra calls cost under a millisecond a batch.
"""

from collections.abc import Callable, Mapping, Sequence

import attrs
import jax
import numpy as np
from jax.stages import Compiled
from numpy.typing import NDArray

from sie.adapters.packing import Bucket

Shapes = Mapping[str, tuple[int, ...]]
# (weights, tokens [3, rows, length]) to (states [rows, length, hidden], bias)
Enter = Callable[[Sequence[jax.Array], jax.Array], tuple[jax.Array, jax.Array]]
# (weights, states, bias) to states
Layer = Callable[[Sequence[jax.Array], jax.Array, jax.Array], jax.Array]
# (states, tokens) to [rows, segments, dims]
Leave = Callable[[jax.Array, jax.Array], jax.Array]


@attrs.frozen
class Layout:
    """The published name and shape of each weight that a stage takes, in its order. Layers differ in names alone."""

    enter: Shapes
    layers: tuple[Shapes, ...]

    @property
    def shapes(self) -> Shapes:
        return {name: shape for part in (self.enter, *self.layers) for name, shape in part.items()}


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
        pooled: jax.Array = self.leave(states, tokens)
        return pooled


Programs = Mapping[Bucket, Program]
