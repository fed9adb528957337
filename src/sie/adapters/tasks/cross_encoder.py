"""A query and a text read together, and one number for the pair (Nogueira and Cho, 2019), on a BERT encoder."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Self

import attrs
import jax
import numpy as np
from tokenizers import Tokenizer

from sie.adapters.api import (
    Footprint,
    ModelSpec,
    NonFinite,
    Report,
    ScoredRow,
    ScoreInput,
    Timed,
    Vector,
)
from sie.adapters.families.bert.config import label_names
from sie.adapters.families.bert.loading import find_bert, open_bert
from sie.adapters.running import Network
from sie.adapters.stages import Head
from sie.adapters.tasks.options import choice_of, refused
from sie.adapters.tasks.pooling import pool
from sie.adapters.tasks.timing import Stopwatch
from sie.adapters.tokenizing import Pair, pair_tokens

_ACTIVATIONS = ("sigmoid", "none")


@attrs.frozen(eq=False)
class CrossEncoder:
    """A `Scorer`. The runtime option `activation` is sigmoid (scores from 0 to 1) or none (the network's own)."""

    _tokenizer: Tokenizer
    _network: Network

    @classmethod
    def load(cls, spec: ModelSpec, *, cache_dir: str, report: Report) -> Self:
        """Raises LoadFailed."""
        activation = choice_of(spec.runtime, "activation", _ACTIVATIONS)
        found = find_bert(spec, cache_dir=cache_dir, report=report)
        labels = label_names(found.fields)
        if len(labels) != 1:
            raise refused(f"config.json: a scorer has one label, and this has {len(labels)}")
        head = head_of(activation, found.config.hidden_size)
        return cls(found.tokenizer, open_bert(found, head, cache_dir=cache_dir, report=report))

    @property
    def footprint(self) -> Footprint:
        return self._network.footprint

    def score(self, inputs: Sequence[ScoreInput]) -> Timed[ScoredRow]:
        """Raises NonFinite."""
        watch = Stopwatch()
        pairs = [Pair((one.instruction or "") + one.query, text) for one in inputs for text in one.texts]
        tokens = pair_tokens(self._tokenizer, pairs)
        watch.tokenized()
        scores = self._infer([one.ids for one in tokens], [one.types for one in tokens])
        watch.inferred()
        ends = accumulate((len(one.texts) for one in inputs), initial=0)
        rows = (ScoredRow(scores[a:b], sum(len(one.ids) for one in tokens[a:b])) for a, b in pairwise(ends))
        return watch.timed(tuple(rows))

    def warm_up(self) -> None:
        self._network.warm_up()

    def _infer(self, sequences: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> Vector:
        scores = np.empty(len(sequences), np.float32)
        for answers in self._network.run(sequences, types):
            for slot in answers.slots:
                scores[slot.index] = answers.values[slot.row, slot.segment, 0]
        finite = np.isfinite(scores)
        if not finite.all():
            raise NonFinite(int(finite.argmin()))
        return scores


def head_of(activation: str, hidden: int) -> Head:
    shapes: Mapping[str, tuple[int, ...]] = {
        "pooler.dense.weight": (hidden, hidden),
        "pooler.dense.bias": (hidden,),
        "classifier.weight": (1, hidden),
        "classifier.bias": (1,),
    }
    return Head(partial(leave, activation), made_from=f"cross-encoder {activation}", shapes=shapes)


def leave(activation: str, weights: Sequence[jax.Array], states: jax.Array, tokens: jax.Array) -> jax.Array:
    """`[rows, segments, 1]`, from the first token of each segment."""
    pooler, pooler_bias, classifier, bias = weights
    _, positions, segments, _ = tokens
    first = jax.numpy.tanh(pool(states, positions, segments, "cls") @ pooler.T + pooler_bias)
    logits = first @ classifier.T + bias
    return jax.nn.sigmoid(logits) if activation == "sigmoid" else logits
