"""What the backend may ask of a model, whatever network is behind it (§16.1): text in, numpy out, no JAX in sight.

A bundle lists adapter modules; a profile's `adapter_path` is `module:Class`, and that class is an `AdapterFactory`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

Phase = Literal["downloading", "loading", "compiling"]


@attrs.frozen
class Progress:
    """How far a load has come. `total` is 0 where the length is not known."""

    phase: Phase
    done: int = 0
    total: int = 0


Report = Callable[[Progress], None]


@attrs.frozen
class ModelSpec:
    """The part of a model's configuration that a load depends on (wire-facts 3.6), one profile of it."""

    model_id: str
    hf_id: str | None
    hf_revision: str | None
    weights_path: str | None
    max_sequence_length: int | None
    loadtime: Mapping[str, object]
    runtime: Mapping[str, object]


@attrs.frozen
class EncodeInput:
    """One text to encode. `instruction` is put before the text as it is."""

    text: str
    instruction: str | None = None
    is_query: bool = False


@attrs.frozen
class EncodedRow:
    """What became of one input: `dense` is float32 `[dims]`; `tokens` counts the real tokens, specials among them."""

    dense: NDArray[np.float32]
    tokens: int


@attrs.frozen
class Encoded:
    """The rows in the order of the inputs, with the milliseconds each stage took for the whole call."""

    rows: tuple[EncodedRow, ...]
    tokenization_ms: float
    inference_ms: float
    postprocessing_ms: float = 0.0


class Encoder(Protocol):
    """A loaded model that encodes; `encode` is called from one thread at a time."""

    @property
    def dims(self) -> int: ...

    def encode(self, inputs: Sequence[EncodeInput]) -> Encoded: ...

    def warm_up(self) -> None:
        """Do ahead of time what a first request would otherwise pay for; called once, perhaps beside an `encode`."""
        ...


class AdapterFactory(Protocol):
    """What `adapter_path` names. `cache_dir` holds downloads and compiled programs between runs."""

    def load(self, spec: ModelSpec, *, cache_dir: str, report: Report) -> Encoder: ...


class LoadFailed(Exception):
    """A model cannot be loaded. `error_class` is one of wire-facts 1.7; `permanent`: trying again cannot help."""

    def __init__(self, message: str, *, error_class: str, permanent: bool) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.permanent = permanent
