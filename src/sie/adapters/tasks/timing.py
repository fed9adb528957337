"""How long each stage of a call took, as the reply tells it (§16.2)."""

import time
from typing import TypeVar

import attrs

from sie.adapters.api import Timed

R = TypeVar("R")


@attrs.define
class Stopwatch:
    """Started when it is made; a stage that is not marked took no time."""

    _started: float = attrs.field(factory=time.perf_counter)
    _tokenized: float | None = None
    _inferred: float | None = None

    def tokenized(self) -> None:
        self._tokenized = time.perf_counter()

    def inferred(self) -> None:
        self._inferred = time.perf_counter()

    def timed(self, rows: tuple[R, ...]) -> Timed[R]:
        tokenized = self._tokenized or self._started
        inferred = self._inferred or tokenized
        return Timed(
            rows=rows,
            tokenization_ms=(tokenized - self._started) * 1000,
            inference_ms=(inferred - tokenized) * 1000,
            postprocessing_ms=(time.perf_counter() - inferred) * 1000,
        )
