"""A published checkpoint's names onto `modeling.Bert`.

Accepts the prefix of checkpoints with a head (`bert.`, `roberta.`) and the gamma/beta of the oldest ones. What a
checkpoint may hold and this encoder does not use is named here; `checkpoint.read_tensors` refuses all else left over.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import jax

from sie.adapters.checkpoint import read_tensors
from sie.adapters.stages import Layout, Weights

# Paths in `modeling.Bert` and the published names they stand for; the first that matches is taken.
_PUBLISHED: Sequence[tuple[str, str]] = (
    (r"embeddings\.(word|position|token_type)\.", r"embeddings.\1_embeddings."),
    (r"embeddings\.norm\.", r"embeddings.LayerNorm."),
    (r"layers\.(\d+)\.attention\.(query|key|value)\.", r"encoder.layer.\1.attention.self.\2."),
    (r"layers\.(\d+)\.attention\.output\.", r"encoder.layer.\1.attention.output.dense."),
    (r"layers\.(\d+)\.attention_norm\.", r"encoder.layer.\1.attention.output.LayerNorm."),
    (r"layers\.(\d+)\.(intermediate|output)\.", r"encoder.layer.\1.\2.dense."),
    (r"layers\.(\d+)\.output_norm\.", r"encoder.layer.\1.output.LayerNorm."),
)
# A constant buffer, and the layer that a classifier puts on the first token.
_UNUSED = frozenset({"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"})
_OLD_NAMES = {"gamma": "weight", "beta": "bias"}


def load_weights(folder: Path, layout: Layout, *, prefix: str, unused: frozenset[str]) -> Weights:
    """The checkpoint on the default device; what two stages take is there once. `unused` are the names of a head."""
    tensors = read_tensors(folder, layout.shapes, canonical=partial(_canonical, prefix), unused=_UNUSED | unused)
    arrays = jax.device_put(tensors)
    enter, *layers, leave = ([arrays[name] for name in part] for part in (layout.enter, *layout.layers, layout.leave))
    return Weights(enter, tuple(layers), leave)


def published_name(path: str) -> str:
    """`layers.0.attention.query.weight.value` is `encoder.layer.0.attention.self.query.weight`."""
    path = path.removesuffix(".value")
    for pattern, replacement in _PUBLISHED:
        name, matched = re.subn(rf"^{pattern}", replacement, path)
        if matched:
            return name
    raise ValueError(f"modeling.Bert has a parameter without a published name: {path}")


def _canonical(prefix: str, name: str) -> str:
    stem, _, last = name.removeprefix(prefix).rpartition(".")
    return f"{stem}.{_OLD_NAMES.get(last, last)}"
