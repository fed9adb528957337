"""One weight for each word of the vocabulary, most of them 0 (SPLADE, Formal et al., 2021)."""

from collections.abc import Mapping, Sequence
from typing import Self

import attrs
import jax
import jax.numpy as jnp
import numpy as np

from sie.adapters.api import (
    Encoded,
    EncodedRow,
    EncodeInput,
    ModelSpec,
    NonFinite,
    OutputDtype,
    Report,
    SparseVector,
    Vector,
)
from sie.adapters.families.loading import Found, find_checkpoint, open_network
from sie.adapters.packing import Bucket
from sie.adapters.stages import Head
from sie.adapters.tasks.loaded import Loaded
from sie.adapters.tasks.options import parse_output_dtype, refused
from sie.adapters.tasks.prompts import Prompts, parse_prompts
from sie.adapters.tasks.published import check_queries_are_inferred
from sie.adapters.tasks.timing import Stopwatch
from sie.adapters.tokenizing import token_ids
from sie.domain.model import EncodeOutput


@attrs.frozen(eq=False)
class SparseEncoder(Loaded):
    """An `Encoder`; the places are the ids of the tokenizer."""

    output_dtype: OutputDtype
    _prompts: Prompts

    @classmethod
    def load(cls, spec: ModelSpec, *, cache_dir: str, report: Report) -> Self:
        """Raises LoadFailed."""
        output_dtype, prompts = parse_output_dtype(spec.runtime), parse_prompts(spec.runtime)
        found = find_checkpoint(spec, cache_dir=cache_dir, report=report)
        check_queries_are_inferred(found.folder)
        network = open_network(found, head_of(found), cache_dir=cache_dir, report=report)
        return cls(found.tokenizer, network, output_dtype, prompts)

    @property
    def outputs(self) -> tuple[EncodeOutput, ...]:
        return ("sparse",)

    def encode(self, inputs: Sequence[EncodeInput]) -> Encoded:
        """Raises NonFinite."""
        watch = Stopwatch()
        sequences = token_ids(self._tokenizer, map(self._prompts.of, inputs))
        watch.tokenized()
        vectors = self._infer(sequences)
        watch.inferred()
        rows = (EncodedRow(sparse=vectors[index], tokens=len(ids)) for index, ids in enumerate(sequences))
        return watch.timed(tuple(rows))

    def _infer(self, sequences: Sequence[Sequence[int]]) -> Mapping[int, SparseVector]:
        """By index. A whole batch of activations is large, so each is made sparse as it is read."""
        found: dict[int, SparseVector] = {}
        for answers in self._network.run(sequences):
            for slot in answers.slots:
                activations = answers.values[slot.row, slot.segment]
                if not np.isfinite(activations).all():
                    raise NonFinite(slot.index)
                found[slot.index] = sparse(activations)
        return found


def sparse(activations: Vector) -> SparseVector:
    """`activations [vocabulary]` without its zeros."""
    (indices,) = np.nonzero(activations)
    return SparseVector(len(activations), indices.astype(np.int32), activations[indices])


def head_of(found: Found) -> Head:
    """Raises LoadFailed where the head has words of its own, other than those that are read."""
    if found.fields.get("tie_word_embeddings", True) is not True:
        raise refused("config.json: tie_word_embeddings must be true for a sparse model")
    config, words = found.config, found.family.words
    hidden = config.hidden_size
    shapes = {
        f"{words.dense}.weight": (hidden, hidden),
        f"{words.dense}.bias": (hidden,),
        f"{words.norm}.weight": (hidden,),
        f"{words.norm}.bias": (hidden,),
        "embeddings.word_embeddings.weight": (config.vocab_size, hidden),
        words.bias: (config.vocab_size,),
    }

    def leave(weights: Sequence[jax.Array], states: jax.Array, tokens: jax.Array) -> jax.Array:
        return activations_of(word_logits(weights, states, config.layer_norm_eps), tokens[2])

    return Head(leave, made_from="splade", shapes=shapes, unused=words.unused)


def word_logits(weights: Sequence[jax.Array], states: jax.Array, epsilon: float) -> jax.Array:
    """`[rows, length, vocabulary]`: how much each word could stand at each place."""
    weight, bias, scale, shift, words, word_bias = weights
    hidden = jax.nn.gelu(states @ weight.T + bias, approximate=False)
    deviation = hidden - hidden.mean(-1, keepdims=True)
    variance = (deviation * deviation).mean(-1, keepdims=True)
    return (deviation * jax.lax.rsqrt(variance + epsilon) * scale + shift) @ words.T + word_bias


def activations_of(logits: jax.Array, segments: jax.Array) -> jax.Array:
    """`[rows, segments, vocabulary]`: log(1 + relu(logit)), the largest over the tokens of a segment.

    Token after token, in slices that stay where they are: `segment_max` takes six times as long on a CPU.
    """
    rows, length, words = logits.shape
    one = (1, 1, words)

    def with_place(place: jax.Array, largest: jax.Array) -> jax.Array:
        for row in range(rows):
            at = (row, segments[row, place], 0)
            token = jax.lax.dynamic_slice(logits, (row, place, 0), one)
            seen = jnp.maximum(jax.lax.dynamic_slice(largest, at, one), token)
            largest = jax.lax.dynamic_update_slice(largest, seen, at)
        return largest

    begin = jnp.zeros((rows, Bucket(rows, length).segments + 1, words), logits.dtype)  # 0 is what padding gives
    largest: jax.Array = jax.lax.fori_loop(0, length, with_place, begin)
    return jnp.log1p(largest[:, 1:])
