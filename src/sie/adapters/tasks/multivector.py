"""A vector a token, and late interaction over them (ColBERT, Khattab and Zaharia, 2020), on an encoder.

`MultivectorEncoder` gives the vectors; `LateInteraction` also scores with them, and is the default scorer while there
is no cross-encoder to be had from a package: the texts are not read together with the query.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Self

import attrs
import jax
import numpy as np

from sie.adapters.api import (
    Encoded,
    EncodedRow,
    EncodeInput,
    ModelSpec,
    NonFinite,
    OutputDtype,
    Report,
    ScoredRow,
    ScoreInput,
    Timed,
    Vector,
)
from sie.adapters.families.loading import find_checkpoint, open_network
from sie.adapters.stages import Head
from sie.adapters.tasks.loaded import Loaded
from sie.adapters.tasks.max_sim import max_sim
from sie.adapters.tasks.options import flag_of, parse_output_dtype, refused
from sie.adapters.tasks.pooling import l2_normalized
from sie.adapters.tasks.prompts import Prompts, parse_prompts
from sie.adapters.tasks.timing import Stopwatch
from sie.adapters.tokenizing import token_ids
from sie.domain.model import EncodeOutput

_PROJECTION = "linear.weight"
"""As ColBERT's checkpoints name it; it has no bias."""


@attrs.frozen
class MultivectorOptions:
    """`token_dims` is the width that the checkpoint's projection gives; None takes the token states as they are."""

    token_dims: int | None = None
    normalize: bool = True


@attrs.frozen(eq=False)
class TokenVectors:
    """`vectors [tokens, dims]` of sequence `index`."""

    index: int
    vectors: Vector


@attrs.frozen(eq=False)
class MultivectorEncoder(Loaded):
    """An `Encoder`; the special tokens have vectors, too."""

    output_dtype: OutputDtype
    _prompts: Prompts

    @classmethod
    def load(cls, spec: ModelSpec, *, cache_dir: str, report: Report) -> Self:
        """Raises LoadFailed."""
        options, output_dtype = parse_options(spec.runtime), parse_output_dtype(spec.runtime)
        prompts = parse_prompts(spec.runtime)
        found = find_checkpoint(spec, cache_dir=cache_dir, report=report)
        head = head_of(options, found.config.hidden_size)
        network = open_network(found, head, cache_dir=cache_dir, report=report)
        return cls(found.tokenizer, network, output_dtype, prompts)

    @property
    def outputs(self) -> tuple[EncodeOutput, ...]:
        return ("multivector",)

    def encode(self, inputs: Sequence[EncodeInput]) -> Encoded:
        """Raises NonFinite."""
        watch = Stopwatch()
        sequences = token_ids(self._tokenizer, map(self._prompts.of, inputs))
        watch.tokenized()
        vectors = self.infer(sequences)
        watch.inferred()
        rows = (EncodedRow(multivector=tokens, tokens=len(tokens)) for tokens in vectors)
        return watch.timed(tuple(rows))

    def infer(self, sequences: Sequence[Sequence[int]]) -> list[Vector]:
        """`[tokens, dims]` of each sequence, in their order. Raises NonFinite."""
        found = {one.index: one.vectors for one in self.read(sequences)}
        return [found[index] for index in range(len(sequences))]

    def read(self, sequences: Sequence[Sequence[int]]) -> Iterator[TokenVectors]:
        """Each sequence once, in the order that the device is done with them. Raises NonFinite."""
        for answers in self._network.run(sequences):
            for slot in answers.slots:
                vectors = answers.values[slot.row, slot.start : slot.start + len(sequences[slot.index])]
                if not np.isfinite(vectors).all():
                    raise NonFinite(slot.index)
                yield TokenVectors(slot.index, vectors)


@attrs.frozen(eq=False)
class LateInteraction(MultivectorEncoder):
    """A `Scorer` as well: the sum, over the tokens of the query, of how near the nearest token of the text is."""

    def score(self, inputs: Sequence[ScoreInput]) -> Timed[ScoredRow]:
        """Texts are scored as they are read: the vectors of a thousand would fill the memory. Raises NonFinite."""
        watch = Stopwatch()
        queries = token_ids(self._tokenizer, map(self._query, inputs))
        texts = token_ids(self._tokenizer, (self._document(text) for one in inputs for text in one.texts))
        watch.tokenized()
        vectors = self.infer(queries)
        owners = [number for number, one in enumerate(inputs) for _ in one.texts]
        scores = np.empty(len(texts), np.float32)
        for text in self.read(texts):
            scores[text.index] = max_sim(vectors[owners[text.index]], text.vectors)
        watch.inferred()
        ends = pairwise(accumulate((len(one.texts) for one in inputs), initial=0))
        rows = (
            ScoredRow(scores[start:end], len(query) + sum(map(len, texts[start:end])))
            for query, (start, end) in zip(queries, ends, strict=True)
        )
        return watch.timed(tuple(rows))

    def _query(self, one: ScoreInput) -> str:
        return self._prompts.prompt(one.query, instruction=one.instruction, is_query=True)

    def _document(self, text: str) -> str:
        return self._prompts.prompt(text, instruction=None, is_query=False)


def leave(options: MultivectorOptions, weights: Sequence[jax.Array], states: jax.Array, _: jax.Array) -> jax.Array:
    """Token states to token vectors `[rows, length, dims]`."""
    vectors = states @ weights[0].T if weights else states
    return l2_normalized(vectors) if options.normalize else vectors


def head_of(options: MultivectorOptions, hidden: int) -> Head:
    shapes = {} if options.token_dims is None else {_PROJECTION: (options.token_dims, hidden)}
    return Head(partial(leave, options), made_from=repr(options), shapes=shapes)


def parse_options(runtime: Mapping[str, object]) -> MultivectorOptions:
    """Raises LoadFailed(CONFIG)."""
    dims = runtime.get("token_dims")
    if dims is not None and (isinstance(dims, bool) or not isinstance(dims, int) or dims < 1):
        raise refused(f"runtime.token_dims must be a positive integer, not {dims!r}")
    return MultivectorOptions(dims, flag_of(runtime, "normalize", default=True))
