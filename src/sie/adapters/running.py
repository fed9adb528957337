"""A network that is loaded, run over any number of sequences: planned, packed, dispatched and read.

A batch is dispatched before the one before it is read, so the device does not wait for Python.
"""

from collections import deque
from collections.abc import Iterator, Sequence

import attrs
import jax
import numpy as np
from numpy.typing import NDArray

from sie.adapters.api import Footprint
from sie.adapters.compile import warm_up
from sie.adapters.packing import Batch, plan_batches
from sie.adapters.rows import Slot, pack_tokens, slots
from sie.adapters.stages import Programs, Weights

_IN_FLIGHT = 2  # batches dispatched and not yet read: one computing, one ready to follow it


@attrs.frozen
class Answers:
    """One batch read: the answer of each slot is in `values`."""

    slots: tuple[Slot, ...]
    values: NDArray[np.float32]


@attrs.frozen(eq=False)
class Network:
    programs: Programs
    weights: Weights

    @property
    def footprint(self) -> Footprint:
        return self.weights.footprint

    def run(
        self, sequences: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None
    ) -> Iterator[Answers]:
        """Every sequence is in one of the batches, which come in any order."""
        running: deque[tuple[Batch, jax.Array]] = deque()
        for batch in plan_batches([len(ids) for ids in sequences], tuple(self.programs)).batches:
            packed = pack_tokens(batch, sequences, types)
            running.append((batch, self.programs[batch.bucket](self.weights, packed)))
            if len(running) >= _IN_FLIGHT:
                yield _read(*running.popleft(), sequences)
        for batch, values in running:
            yield _read(batch, values, sequences)

    def warm_up(self) -> None:
        warm_up(self.programs, self.weights)


def _read(batch: Batch, values: jax.Array, sequences: Sequence[Sequence[int]]) -> Answers:
    """Waits for the batch."""
    return Answers(tuple(slots(batch, sequences)), np.asarray(values))
