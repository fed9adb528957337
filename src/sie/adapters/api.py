"""What the backend may ask of a model, whatever network is behind it (§16.1): text in, numpy out, no JAX in sight.

A bundle lists adapter modules; a profile's `adapter_path` is `module:Class`, and that class is an `AdapterFactory`.
What it loads does what it has the methods for: it is an Encoder, a Scorer or an Extractor, or several of these.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import attrs
import numpy as np
from numpy.typing import NDArray

from sie.domain.errors import ErrorCode
from sie.domain.model import EncodeOutput

Phase = Literal["downloading", "loading", "compiling"]
OutputDtype = Literal["float32", "float16", "int8", "uint8", "binary", "ubinary"]
"""wire-facts 1.5; the first is what is given where none is asked for."""
R = TypeVar("R")
Vector: TypeAlias = NDArray[np.float32]


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
    room_bytes: int | None = None
    """What the model may take of the device; None where nothing limits it."""


@attrs.frozen
class Footprint:
    """What a loaded model takes, and what its device has in all; 0 is not known."""

    model_bytes: int
    device_bytes: int = 0


@attrs.frozen
class EncodeInput:
    """One text to encode. `instruction` goes where the profile's template has a place for it, else before the text."""

    text: str
    instruction: str | None = None
    is_query: bool = False


@attrs.frozen
class SparseVector:
    """`values` (float32) at `indices` (int32, ascending) of `dims` places; every other place is 0."""

    dims: int
    indices: NDArray[np.int32]
    values: Vector


@attrs.frozen(kw_only=True)
class EncodedRow:
    """What became of one input, in each output that the model gives. `tokens` counts the special ones, too.

    `dense` is float32 `[dims]`, `multivector` float32 `[tokens, dims]`.
    """

    tokens: int
    dense: Vector | None = None
    sparse: SparseVector | None = None
    multivector: Vector | None = None


@attrs.frozen
class ScoreInput:
    """One query and the texts to score for it. `instruction` is put before the query as it is."""

    query: str
    texts: tuple[str, ...]
    instruction: str | None = None


@attrs.frozen
class ScoredRow:
    """float32 `[texts]`, in their order: the more, the better the text fits the query."""

    scores: Vector
    tokens: int


@attrs.frozen
class ExtractInput:
    """`labels` are those to look for; None is all that the model knows."""

    text: str
    labels: tuple[str, ...] | None = None


@attrs.frozen
class Entity:
    """`text` is what stands from `start` to `end` in the input, counted in characters; `score` is within 0 and 1."""

    text: str
    label: str
    score: float
    start: int
    end: int


@attrs.frozen
class ExtractedRow:
    """In the order of the text."""

    entities: tuple[Entity, ...]
    tokens: int


@attrs.frozen
class Timed(Generic[R]):
    """The rows in the order of the inputs, with the milliseconds each stage took for the whole call."""

    rows: tuple[R, ...]
    tokenization_ms: float
    inference_ms: float
    postprocessing_ms: float = 0.0


Encoded: TypeAlias = Timed[EncodedRow]


class LoadedModel(Protocol):
    """All calls come from one thread at a time."""

    @property
    def footprint(self) -> Footprint: ...

    def warm_up(self) -> None:
        """Do ahead of time what a first request would otherwise pay for; called once, perhaps beside a request."""
        ...


@runtime_checkable
class Encoder(LoadedModel, Protocol):
    @property
    def outputs(self) -> tuple[EncodeOutput, ...]:
        """What every row has; the first is what a request gets that asks for none."""
        ...

    @property
    def output_dtype(self) -> OutputDtype:
        """The profile's own, for requests that ask for none (wire-facts 1.5)."""
        ...

    def encode(self, inputs: Sequence[EncodeInput]) -> Encoded: ...


@runtime_checkable
class Scorer(LoadedModel, Protocol):
    def score(self, inputs: Sequence[ScoreInput]) -> Timed[ScoredRow]: ...


@runtime_checkable
class Extractor(LoadedModel, Protocol):
    def extract(self, inputs: Sequence[ExtractInput]) -> Timed[ExtractedRow]: ...


class AdapterFactory(Protocol):
    """What `adapter_path` names. `cache_dir` holds downloads and compiled programs between runs."""

    def load(self, spec: ModelSpec, *, cache_dir: str, report: Report) -> LoadedModel: ...


class LoadFailed(Exception):
    """A model cannot be loaded. `error_class` is one of wire-facts 1.7; `permanent`: trying again cannot help."""

    def __init__(self, message: str, *, error_class: str, permanent: bool) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.permanent = permanent


class NoRoom(LoadFailed):
    """The model takes more than it may. Told before its weights are in memory; another try may find more room."""

    def __init__(self, model_bytes: int, room_bytes: int) -> None:
        message = f"the model takes {model_bytes} bytes, and there is room for {room_bytes}"
        super().__init__(message, error_class="OOM", permanent=False)
        self.model_bytes = model_bytes


class BadInput(Exception):
    """An input that the model cannot take as it is, in words for the client."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.INVALID_INPUT) -> None:
        super().__init__(message)
        self.code = code


class NonFinite(Exception):
    """The network answered NaN or infinity: its weights are broken, or overflow on a text. It spreads within a row."""

    def __init__(self, index: int) -> None:
        super().__init__(f"input {index}, or a text that shares its row, has an answer that is not finite")
        self.index = index


def check_room(model_bytes: int, spec: ModelSpec) -> None:
    """Raises NoRoom."""
    if spec.room_bytes is not None and model_bytes > spec.room_bytes:
        raise NoRoom(model_bytes, spec.room_bytes)
