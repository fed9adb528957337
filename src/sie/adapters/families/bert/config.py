"""Which BERT a checkpoint's config.json describes, and a refusal where `modeling` would compute another.

The names are those of the published file.
"""

import attrs

from sie.adapters.families.fields import Fields, check_implemented, epsilon_of, refused, size_of


@attrs.frozen
class BertConfig:
    """The sizes that the network is built from. The first token stands at `position_offset` of the position table."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float
    position_offset: int = 0

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_attention_heads

    @property
    def positions(self) -> int:
        """The tokens that a text may have."""
        return self.max_position_embeddings - self.position_offset


ARITHMETIC: Fields = {
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
}
"""The choices that change what is computed, with the one value that `modeling` implements."""


def parse_config(fields: Fields) -> BertConfig:
    """Raises LoadFailed(CONFIG) that names the field, what it holds and what is implemented."""
    check_implemented(fields, {"model_type": "bert", **ARITHMETIC})
    return parse_sizes(fields, position_offset=0)


def parse_sizes(fields: Fields, *, position_offset: int) -> BertConfig:
    """Raises LoadFailed(CONFIG)."""
    config = BertConfig(
        vocab_size=size_of(fields, "vocab_size"),
        hidden_size=size_of(fields, "hidden_size"),
        num_hidden_layers=size_of(fields, "num_hidden_layers"),
        num_attention_heads=size_of(fields, "num_attention_heads"),
        intermediate_size=size_of(fields, "intermediate_size"),
        max_position_embeddings=size_of(fields, "max_position_embeddings"),
        type_vocab_size=size_of(fields, "type_vocab_size"),
        layer_norm_eps=epsilon_of(fields),
        position_offset=position_offset,
    )
    if config.hidden_size % config.num_attention_heads:
        raise refused(f"hidden_size {config.hidden_size} does not divide into {config.num_attention_heads} heads")
    return config
