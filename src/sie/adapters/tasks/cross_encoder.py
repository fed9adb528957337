"""A query and a text read together, and one number for the pair (Nogueira and Cho, 2019), on an encoder."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Self

import attrs
import jax
import numpy as np

from sie.adapters.api import (
    ModelSpec,
    NonFinite,
    Report,
    ScoredRow,
    ScoreInput,
    Timed,
    Vector,
)
from sie.adapters.families.fields import Fields, label_names
from sie.adapters.families.loading import Found, find_checkpoint, open_network
from sie.adapters.stages import Head
from sie.adapters.tasks.loaded import Loaded
from sie.adapters.tasks.options import choice_of, refused
from sie.adapters.tasks.pooling import pool
from sie.adapters.tasks.timing import Stopwatch
from sie.adapters.tokenizing import Pair, pair_tokens

_ACTIVATIONS = ("sigmoid", "none")
# PyTorch's names of them, with any module before, as checkpoints of sentence-transformers have them.
_PUBLISHED_SIGMOID, _PUBLISHED_NONE = "Sigmoid", "Identity"


@attrs.frozen(eq=False)
class CrossEncoder(Loaded):
    """A `Scorer`. The runtime option `activation` is sigmoid (scores from 0 to 1) or none (the network's own).

    A profile without it leaves the choice to the checkpoint.
    """

    @classmethod
    def load(cls, spec: ModelSpec, *, cache_dir: str, report: Report) -> Self:
        """Raises LoadFailed."""
        found = find_checkpoint(spec, cache_dir=cache_dir, report=report)
        activation = activation_of(spec.runtime, found.fields)
        labels = label_names(found.fields)
        if len(labels) != 1:
            raise refused(f"config.json: a scorer has one label, and this has {len(labels)}")
        head = head_of(activation, found)
        return cls(found.tokenizer, open_network(found, head, cache_dir=cache_dir, report=report))

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

    def _infer(self, sequences: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> Vector:
        scores = np.empty(len(sequences), np.float32)
        for answers in self._network.run(sequences, types):
            for slot in answers.slots:
                scores[slot.index] = answers.values[slot.row, slot.segment, 0]
        finite = np.isfinite(scores)
        if not finite.all():
            raise NonFinite(int(finite.argmin()))
        return scores


def activation_of(runtime: Mapping[str, object], fields: Fields) -> str:
    """The profile's, else the checkpoint's, else sigmoid. Raises LoadFailed(CONFIG)."""
    if "activation" in runtime:
        return choice_of(runtime, "activation", _ACTIVATIONS)
    own = fields.get("sentence_transformers")
    named = own.get("activation_fn") if isinstance(own, Mapping) else None
    named = named or fields.get("sbert_ce_default_activation_function") or _PUBLISHED_SIGMOID
    for published, activation in ((_PUBLISHED_SIGMOID, "sigmoid"), (_PUBLISHED_NONE, "none")):
        if isinstance(named, str) and named.rpartition(".")[2] == published:
            return activation
    raise refused(f"config.json: the activation is {named!r}, and neither {_PUBLISHED_SIGMOID} nor {_PUBLISHED_NONE}")


def head_of(activation: str, found: Found) -> Head:
    hidden, dense, labels = found.config.hidden_size, found.family.pair_dense, found.family.pair_labels
    shapes: Mapping[str, tuple[int, ...]] = {
        f"{dense}.weight": (hidden, hidden),
        f"{dense}.bias": (hidden,),
        f"{labels}.weight": (1, hidden),
        f"{labels}.bias": (1,),
    }
    return Head(partial(leave, activation), made_from=f"cross-encoder {activation}", shapes=shapes)


def leave(activation: str, weights: Sequence[jax.Array], states: jax.Array, tokens: jax.Array) -> jax.Array:
    """`[rows, segments, 1]`, from the first token of each segment."""
    pooler, pooler_bias, classifier, bias = weights
    _, positions, segments, _ = tokens
    first = jax.numpy.tanh(pool(states, positions, segments, "cls") @ pooler.T + pooler_bias)
    logits = first @ classifier.T + bias
    return jax.nn.sigmoid(logits) if activation == "sigmoid" else logits
