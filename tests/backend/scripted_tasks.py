"""Models without JAX that score, extract or encode into what a test says: for the backend's own tests."""

from collections.abc import Sequence

import attrs
import numpy as np

from sie.adapters.api import (
    BadInput,
    Encoded,
    EncodedRow,
    EncodeInput,
    Entity,
    ExtractedRow,
    ExtractInput,
    Footprint,
    OutputDtype,
    ScoredRow,
    ScoreInput,
    SparseVector,
    Timed,
)
from sie.domain.errors import ErrorCode
from sie.domain.model import EncodeOutput


class Resting:
    """What every loaded model has."""

    @property
    def footprint(self) -> Footprint:
        return Footprint(0)

    def warm_up(self) -> None:
        """There is nothing to warm."""


class Counting(Resting):
    """A `Scorer`: a text scores what number it is, and 0 if it is none; `nan` is one."""

    def score(self, inputs: Sequence[ScoreInput]) -> Timed[ScoredRow]:
        rows = (ScoredRow(np.array([_number(text) for text in one.texts], np.float32), 7) for one in inputs)
        return Timed(tuple(rows), 1.0, 2.0)


class Finding(Resting):
    """An `Extractor`: the first word is a WORD. `huge` is too long for it."""

    def extract(self, inputs: Sequence[ExtractInput]) -> Timed[ExtractedRow]:
        if any(one.text == "huge" for one in inputs):
            raise BadInput("the text is too long", ErrorCode.INPUT_TOO_LONG)
        return Timed(tuple(map(_first_word, inputs)), 1.0, 2.0)


@attrs.frozen(eq=False)
class Everything(Resting):
    """An `Encoder` of all three outputs, the same for every text."""

    row: EncodedRow = attrs.field(
        factory=lambda: EncodedRow(
            dense=np.array([0.5, -0.25, 0.0], np.float32),
            sparse=SparseVector(9, np.array([2, 5], np.int32), np.array([1.5, 0.5], np.float32)),
            multivector=np.array([[1.0, -1.0], [0.5, 0.25], [0.0, 2.0]], np.float32),
            tokens=3,
        )
    )
    output_dtype: OutputDtype = "float32"

    @property
    def outputs(self) -> tuple[EncodeOutput, ...]:
        return "dense", "sparse", "multivector"

    def encode(self, inputs: Sequence[EncodeInput]) -> Encoded:
        return Encoded((self.row,) * len(inputs), 1.0, 2.0)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _first_word(one: ExtractInput) -> ExtractedRow:
    word = one.text.partition(" ")[0]
    return ExtractedRow((Entity(word, "WORD", 1.0, 0, len(word)),), tokens=3)
