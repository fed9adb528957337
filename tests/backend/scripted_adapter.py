"""An adapter without JAX whose texts say what it does: for the backend's own tests, in place and as a process."""

import os
import signal
import time
from collections.abc import Sequence
from typing import Self

import numpy as np

from sie.adapters.api import (
    Encoded,
    EncodedRow,
    EncodeInput,
    Footprint,
    LoadFailed,
    ModelSpec,
    OutputDtype,
    Progress,
    Report,
    check_room,
)
from sie.domain.model import EncodeOutput

PATH = "tests.backend.scripted_adapter:Scripted"


class Scripted:
    """A text's vector is its length and 1. `sleep N`, `raise`, `nan` and `die` do what they say.

    Of the texts that begin with `wide` memory holds one at a time, of `exhaust` none.
    """

    def __init__(self, *, warms_up: bool = True, model_bytes: int = 0) -> None:
        self._warms_up = warms_up
        self._model_bytes = model_bytes
        self.sizes: list[int] = []
        """Of the batches that it was given."""

    @classmethod
    def load(cls, spec: ModelSpec, *, cache_dir: str, report: Report) -> Self:
        assert cache_dir
        if spec.loadtime.get("refuse"):
            raise LoadFailed("no such weights", error_class="NOT_FOUND", permanent=True)
        if spec.loadtime.get("break"):
            raise RuntimeError("the disk is on fire")
        model_bytes = spec.loadtime.get("bytes", 0)
        assert isinstance(model_bytes, int)
        check_room(model_bytes, spec)
        for progress in (Progress("downloading", 2, 5), Progress("downloading", 2, 5), Progress("compiling", 3, 8)):
            report(progress)
        return cls(warms_up=not spec.loadtime.get("cold"), model_bytes=model_bytes)

    @property
    def outputs(self) -> tuple[EncodeOutput, ...]:
        return ("dense",)

    @property
    def output_dtype(self) -> OutputDtype:
        return "float32"

    @property
    def footprint(self) -> Footprint:
        return Footprint(self._model_bytes)

    def warm_up(self) -> None:
        """There is nothing to warm, but for a model that is told to fail at it."""
        if not self._warms_up:
            raise RuntimeError("the device is cold")

    def encode(self, inputs: Sequence[EncodeInput]) -> Encoded:
        self.sizes.append(len(inputs))
        if sum(one.text.startswith("wide") for one in inputs) > 1:
            raise RuntimeError("RESOURCE_EXHAUSTED: out of memory")
        return Encoded(tuple(map(_row, inputs)), tokenization_ms=1.0, inference_ms=2.0, postprocessing_ms=0.5)


def _row(one: EncodeInput) -> EncodedRow:
    verb, _, argument = one.text.partition(" ")
    match verb:
        case "sleep":
            time.sleep(float(argument))
        case "raise":
            raise ValueError(f"cannot read {one.text!r}")
        case "exhaust":
            raise MemoryError
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case _:
            pass
    first = np.nan if verb == "nan" else float(len((one.instruction or "") + one.text))
    return EncodedRow(dense=np.array([first, 1.0], np.float32), tokens=len(one.text.split()) + 2)
