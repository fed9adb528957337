"""Which texts share a row and which rows a batch, so that a few compiled shapes carry any request with little padding.

A row holds several sequences, told apart by segment ids; a bucket is one compiled shape. Padding costs far more than
anything else here on a CPU, where the price of a batch is linear in its tokens. Pure: lengths in, indices out.
"""

from collections.abc import Iterator, Sequence
from functools import cache

import attrs

# What one more batch costs, in tokens' worth of time: 1 x 16 takes as long as 16 tokens of a large batch and 16 more.
_BATCH_OVERHEAD_TOKENS = 16
# A row of `length` tokens holds at most length / 4 sequences: shorter ones than 4 tokens are rare, and pooling is
# compiled for a fixed number.
_TOKENS_PER_SEGMENT = 4
# Rows shorter than this are worth a shape only as the single row of a small request.
_SHORTEST_PACKED = 64
MAX_BATCH_TOKENS = 512


@attrs.frozen
class Bucket:
    """One compiled shape: `rows` rows of `length` tokens."""

    rows: int
    length: int

    @property
    def tokens(self) -> int:
        return self.rows * self.length

    @property
    def segments(self) -> int:
        """The most sequences that one row may hold."""
        return self.length // _TOKENS_PER_SEGMENT


@attrs.frozen
class Batch:
    """One run of a bucket: for each row that is in use, the indices of its sequences in order."""

    bucket: Bucket
    rows: tuple[tuple[int, ...], ...]


@attrs.frozen
class Plan:
    """Every sequence in exactly one row; `fill` is real tokens over tokens computed, 1 at best."""

    batches: tuple[Batch, ...]
    tokens: int

    @property
    def fill(self) -> float:
        computed = sum(batch.bucket.tokens for batch in self.batches)
        return self.tokens / computed if computed else 1.0


@attrs.define
class _Row:
    length: int
    used: int = 0
    members: list[int] = attrs.field(factory=list)

    @property
    def room(self) -> int:
        full = len(self.members) >= self.length // _TOKENS_PER_SEGMENT
        return 0 if full else self.length - self.used

    def add(self, index: int, tokens: int) -> None:
        self.members.append(index)
        self.used += tokens


def ladder(max_length: int) -> tuple[Bucket, ...]:
    """The buckets for sequences of 1 to `max_length` tokens, smallest first: for 256, eight of them.

    Every length has a bucket of one row; the packed lengths also have the batch of 256 tokens, and the first of them
    the batch of 512, which is where large requests of short texts spend their time.
    """
    lengths = _lengths(max_length)
    packed = [length for length in lengths if length >= _SHORTEST_PACKED]
    buckets = {Bucket(1, length) for length in lengths}
    buckets |= {Bucket(max(1, MAX_BATCH_TOKENS // 2 // length), length) for length in packed}
    buckets |= {Bucket(max(1, MAX_BATCH_TOKENS // length), length) for length in packed[:1]}
    return tuple(sorted(buckets, key=lambda bucket: (bucket.length, bucket.rows)))


def _lengths(max_length: int) -> tuple[int, ...]:
    """16, 32, 64, ... and last `max_length` itself, rounded up to 16."""
    longest = -(-max_length // 16) * 16
    return (*(16 << k for k in range(longest.bit_length()) if 16 << k < longest), longest)


def plan_batches(lengths: Sequence[int], buckets: Sequence[Bucket]) -> Plan:
    """`lengths[i]` is the number of tokens of sequence i, from 1 to the longest bucket."""
    rows = _fill_rows(lengths, _row_lengths(buckets))
    batches = tuple(batch for length, group in rows.items() for batch in _batches_of(group, length, buckets))
    return Plan(batches, sum(lengths))


def _row_lengths(buckets: Sequence[Bucket]) -> tuple[int, ...]:
    """The lengths that rows are opened at, ascending: the short ones only if there is nothing longer."""
    lengths = sorted({bucket.length for bucket in buckets})
    return tuple(length for length in lengths if length >= min(_SHORTEST_PACKED, lengths[-1]))


def _fill_rows(lengths: Sequence[int], row_lengths: Sequence[int]) -> dict[int, list[_Row]]:
    """Best fit, longest sequence first: the row with the least room that still holds it, else a new shortest row."""
    rows: dict[int, list[_Row]] = {length: [] for length in row_lengths}
    by_room: list[list[_Row]] = [[] for _ in range(row_lengths[-1] + 1)]
    rooms = 0  # bit r is set when by_room[r] is not empty: finding the best fit is then one shift
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        needed = lengths[index]
        if not 0 < needed <= row_lengths[-1]:
            raise ValueError(f"sequence {index} has {needed} tokens; rows hold 1 to {row_lengths[-1]}")
        fitting = rooms >> needed
        if fitting:
            room = needed + (fitting & -fitting).bit_length() - 1
            row = by_room[room].pop()
            rooms &= ~(0 if by_room[room] else 1 << room)
        else:
            row = _Row(next(length for length in row_lengths if length >= needed))
            rows[row.length].append(row)
        row.add(index, needed)
        by_room[row.room].append(row)
        rooms |= 1 << row.room
    return rows


def _batches_of(rows: Sequence[_Row], length: int, buckets: Sequence[Bucket]) -> Iterator[Batch]:
    counts = tuple(sorted(bucket.rows for bucket in buckets if bucket.length == length))
    start = 0
    for count in _cover(len(rows), length, counts):
        group = rows[start : start + count]
        start += count
        bucket = Bucket(count, length) if count > 1 else _shortest_single(group[0], buckets)
        yield Batch(bucket, tuple(tuple(row.members) for row in group))


def _shortest_single(row: _Row, buckets: Sequence[Bucket]) -> Bucket:
    singles = (b for b in buckets if b.rows == 1 and b.length >= row.used and b.segments >= len(row.members))
    return min(singles, key=lambda bucket: bucket.length)


@cache
def _cover(rows: int, length: int, counts: tuple[int, ...]) -> tuple[int, ...]:
    """The cheapest multiset of `counts` (ascending) that adds up to `rows` or a little more, largest first."""
    if rows <= 0:
        return ()
    if rows > 2 * counts[-1]:
        whole = rows // counts[-1] - 1
        return (counts[-1],) * whole + _cover(rows - whole * counts[-1], length, counts)
    covers = [(count, *_cover(rows - count, length, counts)) for count in counts]
    cheapest = min(covers, key=lambda cover: sum(cover) * length + len(cover) * _BATCH_OVERHEAD_TOKENS)
    return tuple(sorted(cheapest, reverse=True))
