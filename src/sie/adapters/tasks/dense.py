"""One vector a text: a BERT encoder, pooled and normalised. Named by a profile's `adapter_path`.

Texts are packed into compiled buckets; a batch is dispatched before the one before it is read, so the device does not
wait for Python. Any Python string is a valid input.
"""

import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

import attrs
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sie.adapters.api import Encoded, EncodedRow, EncodeInput, LoadFailed, ModelSpec, Progress, Report
from sie.adapters.compile import compile_buckets, warm_up
from sie.adapters.families.bert.config import BertConfig, read_config
from sie.adapters.families.bert.params import load_weights
from sie.adapters.packing import Batch, Bucket, ladder, plan_batches
from sie.adapters.program_store import ProgramStore, Stored
from sie.adapters.rows import pack_tokens, slots
from sie.adapters.stages import Programs, Weights
from sie.adapters.tokenizing import open_tokenizer, sentence_limit, token_ids
from sie.adapters.weights import offline_by_environment, resolve_checkpoint

_IN_FLIGHT = 2  # batches dispatched and not yet read: one computing, one ready to follow it
_POOLINGS = ("mean", "cls")


@attrs.frozen
class DenseOptions:
    """The runtime options of a profile that change the vector: `pooling` is mean (all tokens) or cls (the first)."""

    pooling: str = "mean"
    normalize: bool = True


class NonFiniteVector(Exception):
    """The network answered NaN or infinity: its weights are broken, or overflow on a text. It spreads within a row."""

    def __init__(self, index: int) -> None:
        super().__init__(f"input {index}, or a text that shares its row, has a vector that is not finite")
        self.index = index


class DenseEncoder:
    """An `Encoder` for the models whose checkpoint is a BERT."""

    def __init__(self, tokenizer: Tokenizer, programs: Programs, weights: Weights, dims: int) -> None:
        self._tokenizer = tokenizer
        self._programs = programs
        self._weights = weights
        self._dims = dims

    @classmethod
    def load(cls, spec: ModelSpec, *, cache_dir: str, report: Report) -> Self:
        """Raises LoadFailed."""
        options, cache = parse_options(spec.runtime), Path(cache_dir)
        folder = resolve_checkpoint(spec, cache, report, offline=offline_by_environment(os.environ)).folder
        report(Progress("loading"))
        config = read_config(folder)
        max_length = _max_length(spec, folder, config)
        tokenizer = open_tokenizer(folder, vocab_size=config.vocab_size, max_length=max_length)
        store = ProgramStore.of(cache, _made_from(config, options, max_length))
        stored = store.load()
        if stored is None:
            return cls(tokenizer, *_compiled(store, folder, config, options, max_length, report), config.hidden_size)
        return cls(tokenizer, stored.programs, load_weights(folder, stored.layout), config.hidden_size)

    @property
    def dims(self) -> int:
        return self._dims

    def encode(self, inputs: Sequence[EncodeInput]) -> Encoded:
        """Raises NonFiniteVector."""
        started = time.perf_counter()
        sequences = token_ids(self._tokenizer, ((item.instruction or "") + item.text for item in inputs))
        tokenized = time.perf_counter()
        dense = self._infer(sequences)
        inferred = time.perf_counter()
        finite = np.isfinite(dense).all(axis=1)
        if not finite.all():
            raise NonFiniteVector(int(finite.argmin()))
        rows = tuple(EncodedRow(vector, len(ids)) for vector, ids in zip(dense, sequences, strict=True))
        return Encoded(
            rows=rows,
            tokenization_ms=(tokenized - started) * 1000,
            inference_ms=(inferred - tokenized) * 1000,
            postprocessing_ms=(time.perf_counter() - inferred) * 1000,
        )

    def warm_up(self) -> None:
        warm_up(self._programs, self._weights)

    def _infer(self, sequences: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """`[sequences, dims]`, in their order."""
        dense = np.empty((len(sequences), self._dims), np.float32)
        running: deque[tuple[Batch, jax.Array]] = deque()
        plan = plan_batches([len(ids) for ids in sequences], tuple(self._programs))
        for batch in plan.batches:
            running.append((batch, self._programs[batch.bucket](self._weights, pack_tokens(batch, sequences))))
            if len(running) >= _IN_FLIGHT:
                _read(*running.popleft(), into=dense)
        for batch, pooled in running:
            _read(batch, pooled, into=dense)
        return dense


def _compiled(
    store: ProgramStore, folder: Path, config: BertConfig, options: DenseOptions, max_length: int, report: Report
) -> tuple[Programs, Weights]:
    from sie.adapters.families.bert.network import stages_of  # noqa: PLC0415 - brings Flax, which a warm start does without

    stages = stages_of(config, partial(leave, options))
    weights = load_weights(folder, stages.layout)
    programs = compile_buckets(stages, weights, ladder(max_length), report)
    store.save(Stored(stages.layout, programs), weights)
    return programs, weights


def leave(options: DenseOptions, states: jax.Array, tokens: jax.Array) -> jax.Array:
    """Token states to vectors `[rows, segments, hidden]`; those of unused segments are 0."""
    _, positions, segments = tokens
    vectors = pool(states, positions, segments, options.pooling)
    return l2_normalized(vectors) if options.normalize else vectors


def _made_from(config: BertConfig, options: DenseOptions, max_length: int) -> tuple[bytes, ...]:
    return repr(config).encode(), repr(options).encode(), repr(ladder(max_length)).encode()


def pool(states: jax.Array, positions: jax.Array, segments: jax.Array, pooling: str) -> jax.Array:
    """`states [rows, length, hidden]` to `[rows, segments, hidden]`: the mean of a segment's tokens, or the first."""
    numbers = jnp.arange(1, Bucket(*segments.shape).segments + 1)
    members = segments[:, None, :] == numbers[:, None]
    if pooling == "cls":
        members &= positions[:, None, :] == 0
    weights = members.astype(states.dtype)
    return jnp.einsum("rsl,rlh->rsh", weights, states) / jnp.maximum(weights.sum(-1, keepdims=True), 1.0)


def l2_normalized(vectors: jax.Array) -> jax.Array:
    return vectors / jnp.maximum(jnp.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def parse_options(runtime: Mapping[str, object]) -> DenseOptions:
    """Options of other layers (templates, output types) pass by unread."""
    pooling, normalize = runtime.get("pooling", "mean"), runtime.get("normalize", True)
    if not isinstance(pooling, str) or pooling not in _POOLINGS:
        raise _refused(f"runtime.pooling must be one of {', '.join(_POOLINGS)}, not {pooling!r}")
    if not isinstance(normalize, bool):
        raise _refused(f"runtime.normalize must be true or false, not {normalize!r}")
    return DenseOptions(pooling, normalize)


def _max_length(spec: ModelSpec, folder: Path, config: BertConfig) -> int:
    limit = spec.max_sequence_length or sentence_limit(folder) or config.max_position_embeddings
    if limit > config.max_position_embeddings:
        raise _refused(f"max_sequence_length {limit} is over the model's {config.max_position_embeddings} positions")
    return limit


def _read(batch: Batch, pooled: jax.Array, *, into: NDArray[np.float32]) -> None:
    """Waits for the batch."""
    vectors = np.asarray(pooled)
    for slot in slots(batch):
        into[slot.index] = vectors[slot.row, slot.segment]


def _refused(message: str) -> LoadFailed:
    return LoadFailed(message, error_class="CONFIG", permanent=True)
