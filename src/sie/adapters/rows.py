"""A planned batch as the array that a compiled program takes, and where in its answer each sequence is."""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sie.adapters.packing import Batch, Bucket


@attrs.frozen
class Slot:
    """The answer of sequence `index` is at `[row, segment]`; those of its tokens begin at `[row, start]`."""

    index: int
    row: int
    segment: int
    start: int


def empty_tokens(bucket: Bucket) -> NDArray[np.int32]:
    """`[4, rows, length]`: one array, so that a batch is one transfer."""
    return np.zeros((4, bucket.rows, bucket.length), np.int32)


def pack_tokens(
    batch: Batch, sequences: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None
) -> NDArray[np.int32]:
    """ids, positions within their sequence, segments counted from 1 in each row, and types; padding is 0 in all four.

    `types[i]` has one for each token of sequence i; without it all are 0.
    """
    tokens = empty_tokens(batch.bucket)
    for row, members in enumerate(batch.rows):
        start = 0
        for segment, index in enumerate(members, start=1):
            end = start + len(sequences[index])
            tokens[0, row, start:end] = sequences[index]
            tokens[1, row, start:end] = np.arange(end - start)
            tokens[2, row, start:end] = segment
            if types is not None:
                tokens[3, row, start:end] = types[index]
            start = end
    return tokens


def slots(batch: Batch, sequences: Sequence[Sequence[int]]) -> Iterator[Slot]:
    """Of the sequences that were packed."""
    for row, members in enumerate(batch.rows):
        start = 0
        for segment, index in enumerate(members):
            yield Slot(index, row, segment, start)
            start += len(sequences[index])
