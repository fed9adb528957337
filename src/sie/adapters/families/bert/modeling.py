"""BERT (Devlin et al., 2018) in Flax nnx, over packed rows: several texts share a row and never see each other.

RoBERTa and XLM-RoBERTa are the same network with other positions and a single token type, which a tokenizer that tells
the texts of a pair apart is clipped to.

Shapes: `[rows, length]` for ids, `[rows, length, hidden]` for states. Segment 0 is padding. float32 throughout, with
the exact erf GELU: the tanh form moves a sentence vector by 4e-4.
"""

import jax
import jax.numpy as jnp
from flax import nnx

from sie.adapters.families.bert.config import BertConfig
from sie.adapters.families.layers import Embedding, LayerNorm, Linear

# Added to the score of a key that a query may not see. Not -inf: a padding token sees no key, and would become NaN.
_MASKED = -1e9


class Embeddings(nnx.Module):
    """word + position + type (0 but for the second text of a pair), then LayerNorm."""

    def __init__(self, config: BertConfig) -> None:
        self.word = Embedding(config.vocab_size, config.hidden_size)
        self.position = Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type = Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.position_offset = config.position_offset

    def __call__(self, ids: jax.Array, positions: jax.Array, types: jax.Array) -> jax.Array:
        return self.norm(self.word(ids) + self.position(positions + self.position_offset) + self.token_type(types))


class SelfAttention(nnx.Module):
    """Scaled dot-product attention, `heads` at once, and the projection of what they saw."""

    def __init__(self, config: BertConfig) -> None:
        self.heads, self.head_size = config.num_attention_heads, config.head_size
        self.query, self.key, self.value, self.output = (
            Linear(config.hidden_size, config.hidden_size) for _ in range(4)
        )

    def __call__(self, x: jax.Array, bias: jax.Array) -> jax.Array:
        """`bias [rows, 1, length, length]` is 0 where a query may see a key."""
        query, key, value = (self._split_heads(project(x)) for project in (self.query, self.key, self.value))
        scores = jnp.einsum("bhqd,bhkd->bhqk", query * self.head_size**-0.5, key) + bias
        # softmax, divided by its sum only after the weighted sum, where there are `head_size` columns and not `length`
        weights = jnp.exp(scores - scores.max(-1, keepdims=True))
        seen = jnp.einsum("bhqk,bhkd->bhqd", weights, value) / weights.sum(-1, keepdims=True)
        return self.output(seen.transpose(0, 2, 1, 3).reshape(x.shape))

    def _split_heads(self, x: jax.Array) -> jax.Array:
        rows, length, _ = x.shape
        return x.reshape(rows, length, self.heads, self.head_size).transpose(0, 2, 1, 3)


class Layer(nnx.Module):
    """Attention, then two dense layers; each is added to what came in and normalised."""

    def __init__(self, config: BertConfig) -> None:
        self.attention = SelfAttention(config)
        self.attention_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.intermediate = Linear(config.hidden_size, config.intermediate_size)
        self.output = Linear(config.intermediate_size, config.hidden_size)
        self.output_norm = LayerNorm(config.hidden_size, config.layer_norm_eps)

    def __call__(self, x: jax.Array, bias: jax.Array) -> jax.Array:
        x = self.attention_norm(x + self.attention(x, bias))
        return self.output_norm(x + self.output(jax.nn.gelu(self.intermediate(x), approximate=False)))


class Bert(nnx.Module):
    """The encoder without a head: `embeddings`, then each of `layers` in order, give token states."""

    def __init__(self, config: BertConfig) -> None:
        self.embeddings = Embeddings(config)
        self.layers = nnx.List([Layer(config) for _ in range(config.num_hidden_layers)])


def segment_bias(segments: jax.Array) -> jax.Array:
    """`segments [rows, length]` to `[rows, 1, length, length]`: a token sees its segment, padding nothing."""
    query, key = segments[:, None, :, None], segments[:, None, None, :]
    return jnp.where((query == key) & (key > 0), 0.0, _MASKED)
