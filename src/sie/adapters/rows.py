"""A planned batch as the array that a compiled program takes, and where in its answer each sequence is."""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sie.adapters.packing import Batch, Bucket


@attrs.frozen
class Slot:
    """The answer of sequence `index` is at `[row, segment]`."""

    index: int
    row: int
    segment: int


def empty_tokens(bucket: Bucket) -> NDArray[np.int32]:
    """`[3, rows, length]`: one array, so that a batch is one transfer."""
    return np.zeros((3, bucket.rows, bucket.length), np.int32)


def pack_tokens(batch: Batch, sequences: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """ids, positions within their sequence, and segments counted from 1 in each row; padding is 0 in all three."""
    tokens = empty_tokens(batch.bucket)
    for row, members in enumerate(batch.rows):
        start = 0
        for segment, index in enumerate(members, start=1):
            end = start + len(sequences[index])
            tokens[0, row, start:end] = sequences[index]
            tokens[1, row, start:end] = np.arange(end - start)
            tokens[2, row, start:end] = segment
            start = end
    return tokens


def slots(batch: Batch) -> Iterator[Slot]:
    for row, members in enumerate(batch.rows):
        for segment, index in enumerate(members):
            yield Slot(index, row, segment)
