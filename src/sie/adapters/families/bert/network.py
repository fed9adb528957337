"""`modeling.Bert` taken apart into the stages that are compiled. A start from stored programs does without.

Traced for its shapes alone (`nnx.eval_shape`): making random weights first would take seconds.
"""

from collections.abc import Sequence

import attrs
import jax
from flax import nnx

from sie.adapters.families.bert.config import BertConfig
from sie.adapters.families.bert.modeling import Bert, Embeddings, Layer, segment_bias
from sie.adapters.families.bert.params import published_name
from sie.adapters.stages import Head, Layout, Shapes, Stages


def stages_of(config: BertConfig, head: Head) -> Stages:
    """`head` is the task's: from token states to answers."""
    bert = nnx.eval_shape(lambda: Bert(config))
    embeddings = _Part.of(bert.embeddings, "embeddings")
    layers = [_Part.of(layer, f"layers.{number}") for number, layer in enumerate(bert.layers)]

    def enter(weights: Sequence[jax.Array], tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        ids, positions, segments, types = tokens
        module = embeddings.assembled(weights)
        assert isinstance(module, Embeddings)
        return module(ids, positions, types), segment_bias(segments)

    def layer(weights: Sequence[jax.Array], states: jax.Array, bias: jax.Array) -> jax.Array:
        module = layers[0].assembled(weights)
        assert isinstance(module, Layer)
        return module(states, bias)

    layout = Layout(embeddings.shapes, tuple(part.shapes for part in layers), head.shapes)
    return Stages(layout, enter, layer, head.leave)


@attrs.frozen
class _Part:
    """A module taken apart: `assembled` puts its weights, in the order of `shapes`, back into it."""

    structure: jax.tree_util.PyTreeDef
    shapes: Shapes

    @classmethod
    def of(cls, module: nnx.Module, prefix: str) -> "_Part":
        leaves, structure = jax.tree_util.tree_flatten_with_path(module)
        paths = (f"{prefix}.{jax.tree_util.keystr(path, simple=True, separator='.')}" for path, _ in leaves)
        shapes = {published_name(path): leaf.shape for path, (_, leaf) in zip(paths, leaves, strict=True)}
        return cls(structure, shapes)

    def assembled(self, weights: Sequence[jax.Array]) -> object:
        return jax.tree.unflatten(self.structure, weights)
