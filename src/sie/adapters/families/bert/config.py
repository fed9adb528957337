"""Which BERT a checkpoint's config.json describes, and a refusal where `modeling` would compute another.

Read by `params` and by every task on this family; the names are those of the published file.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import attrs

from sie.adapters.api import LoadFailed


@attrs.frozen
class BertConfig:
    """The sizes that the network is built from."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_attention_heads


# The choices that change the arithmetic, with the one value that `modeling` implements; a checkpoint that leaves one
# out means that value.
_IMPLEMENTED: Mapping[str, object] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
}


def read_fields(folder: Path) -> Mapping[str, object]:
    """All of config.json: a head reads more of it than the network. Raises LoadFailed."""
    try:
        fields = json.loads((folder / "config.json").read_bytes())
    except ValueError as error:
        raise _refused(f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise _refused("not a JSON object")
    return fields


def parse_config(fields: Mapping[str, object]) -> BertConfig:
    """Raises LoadFailed(CONFIG) that names the field, what it holds and what is implemented."""
    for name, implemented in _IMPLEMENTED.items():
        if fields.get(name, implemented) != implemented:
            raise _refused(f"{name} is {fields[name]!r}; this adapter implements only {implemented!r}")
    config = BertConfig(
        vocab_size=_size(fields, "vocab_size"),
        hidden_size=_size(fields, "hidden_size"),
        num_hidden_layers=_size(fields, "num_hidden_layers"),
        num_attention_heads=_size(fields, "num_attention_heads"),
        intermediate_size=_size(fields, "intermediate_size"),
        max_position_embeddings=_size(fields, "max_position_embeddings"),
        type_vocab_size=_size(fields, "type_vocab_size"),
        layer_norm_eps=_epsilon(fields),
    )
    if config.hidden_size % config.num_attention_heads:
        raise _refused(f"hidden_size {config.hidden_size} does not divide into {config.num_attention_heads} heads")
    return config


def label_names(fields: Mapping[str, object]) -> tuple[str, ...]:
    """The names of a head's outputs, in their order. Raises LoadFailed(CONFIG)."""
    named = fields.get("id2label")
    if not isinstance(named, Mapping) or not named:
        raise _refused("id2label must name the labels of the head")
    names = tuple(named.get(str(number)) for number in range(len(named)))
    found = tuple(name for name in names if isinstance(name, str))
    if len(found) != len(names):
        raise _refused(f"id2label must give a name to each of 0 to {len(names) - 1}")
    return found


def _size(fields: Mapping[str, object], name: str) -> int:
    value = fields.get(name)
    if type(value) is not int or value < 1:
        raise _refused(f"{name} must be a positive integer, not {value!r}")
    return value


def _epsilon(fields: Mapping[str, object]) -> float:
    value = fields.get("layer_norm_eps", 1e-12)
    if not isinstance(value, float) or not value > 0:
        raise _refused(f"layer_norm_eps must be a positive number, not {value!r}")
    return value


def _refused(reason: str) -> LoadFailed:
    return LoadFailed(f"config.json: {reason}", error_class="CONFIG", permanent=True)
