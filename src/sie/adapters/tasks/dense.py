"""One vector a text: an encoder, pooled and normalised. Named by a profile's `adapter_path`.

Any Python string is a valid input.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
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
    Vector,
)
from sie.adapters.families.loading import find_checkpoint, open_network
from sie.adapters.matryoshka import Sizes, parse_sizes
from sie.adapters.stages import Head
from sie.adapters.tasks.loaded import Loaded
from sie.adapters.tasks.options import choice_of, flag_of, parse_output_dtype
from sie.adapters.tasks.pooling import l2_normalized, pool
from sie.adapters.tasks.prompts import Prompts, parse_prompts
from sie.adapters.tasks.published import published_pooling
from sie.adapters.tasks.timing import Stopwatch
from sie.adapters.tokenizing import token_ids
from sie.domain.model import EncodeOutput

_POOLINGS = ("mean", "cls")


@attrs.frozen
class DenseOptions:
    """The runtime options of a profile that change the vector: `pooling` is mean (all tokens) or cls (the first)."""

    pooling: str = "mean"
    normalize: bool = True


@attrs.frozen(eq=False)
class DenseEncoder(Loaded):
    """An `Encoder` and `Resizable`."""

    dense_sizes: Sizes
    output_dtype: OutputDtype
    _prompts: Prompts

    @classmethod
    def load(cls, spec: ModelSpec, *, cache_dir: str, report: Report) -> Self:
        """Raises LoadFailed."""
        output_dtype, prompts = parse_output_dtype(spec.runtime), parse_prompts(spec.runtime)
        found = find_checkpoint(spec, cache_dir=cache_dir, report=report)
        options = parse_options(spec.runtime, found.folder)
        sizes = parse_sizes(spec.runtime, native=found.config.hidden_size, normalize=options.normalize)
        head = Head(partial(leave, options), made_from=repr(options))
        network = open_network(found, head, cache_dir=cache_dir, report=report)
        return cls(found.tokenizer, network, sizes, output_dtype, prompts)

    @property
    def outputs(self) -> tuple[EncodeOutput, ...]:
        return ("dense",)

    def encode(self, inputs: Sequence[EncodeInput]) -> Encoded:
        """Raises NonFinite."""
        watch = Stopwatch()
        sequences = token_ids(self._tokenizer, map(self._prompts.of, inputs))
        watch.tokenized()
        dense = self._infer(sequences)
        watch.inferred()
        finite = np.isfinite(dense).all(axis=1)
        if not finite.all():
            raise NonFinite(int(finite.argmin()))
        rows = (EncodedRow(dense=vector, tokens=len(ids)) for vector, ids in zip(dense, sequences, strict=True))
        return watch.timed(tuple(rows))

    def _infer(self, sequences: Sequence[Sequence[int]]) -> Vector:
        """`[sequences, dims]`, in their order."""
        dense = np.empty((len(sequences), self.dense_sizes.native), np.float32)
        for answers in self._network.run(sequences):
            for slot in answers.slots:
                dense[slot.index] = answers.values[slot.row, slot.segment]
        return dense


def leave(options: DenseOptions, _: Sequence[jax.Array], states: jax.Array, tokens: jax.Array) -> jax.Array:
    """Token states to vectors `[rows, segments, hidden]`; those of unused segments are 0."""
    _, positions, segments, _ = tokens
    vectors = pool(states, positions, segments, options.pooling)
    return l2_normalized(vectors) if options.normalize else vectors


def parse_options(runtime: Mapping[str, object], folder: Path) -> DenseOptions:
    """Without a pooling in the profile, it is the checkpoint's own. Raises LoadFailed(CONFIG)."""
    own = None if "pooling" in runtime else published_pooling(folder)
    pooling = own or choice_of(runtime, "pooling", _POOLINGS)
    return DenseOptions(pooling, flag_of(runtime, "normalize", default=True))
