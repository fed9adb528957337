"""How is a text for each of thousands of models kept, so that all of them together cost nothing to send or to hash?

In the order of their ids and joined already, some hundreds to a segment. A write makes one segment anew, walks the
memory of no other, and shares them with what was there before it. The export's rows (§3) and the hashed ones (§7).
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping

import attrs

from sie.domain.ids import ModelId

SEGMENT_ROWS = 256
"""Some 350 KB of an export: the server spends far more on sending it than on asking for the next one, and twice as much
would be a quarter of what a write plans among a thousand models.
"""


@attrs.frozen
class Segment:
    """Never empty. `text` has each row with a comma before it."""

    rows: Mapping[ModelId, bytes]
    text: bytes

    @classmethod
    def of(cls, rows: Mapping[ModelId, bytes]) -> "Segment":
        """`rows` are in the order of their ids."""
        return cls(rows, b",".join([b"", *rows.values()]))

    @property
    def first(self) -> ModelId:
        return next(iter(self.rows))


@attrs.frozen
class JoinedRows:
    segments: tuple[Segment, ...] = ()

    @classmethod
    def of(cls, rows: Mapping[ModelId, bytes]) -> "JoinedRows":
        return cls(tuple(_segments(rows, SEGMENT_ROWS)))

    @property
    def chunks(self) -> tuple[bytes, ...]:
        """What stands between the brackets of the list, in pieces."""
        texts = [segment.text for segment in self.segments]
        return (texts[0][1:], *texts[1:]) if texts else ()

    def with_row(self, sie_id: ModelId, row: bytes) -> "JoinedRows":
        """In place of the row of that id, if there is one."""
        at = self._place_of(sie_id)
        rows = self.segments[at].rows if self.segments else {}
        return self._replaced(at, {**rows, sie_id: row})

    def without_row(self, sie_id: ModelId) -> "JoinedRows":
        at = self._place_of(sie_id)
        rows = self.segments[at].rows if self.segments else {}
        if sie_id not in rows:
            return self
        return self._replaced(at, {key: row for key, row in rows.items() if key != sie_id})

    def _place_of(self, sie_id: ModelId) -> int:
        """Of the segment that has the id, or would have it."""
        return max(0, bisect_right(self.segments, sie_id, key=lambda segment: segment.first) - 1)

    def _replaced(self, at: int, rows: Mapping[ModelId, bytes]) -> "JoinedRows":
        """A segment that has grown to twice its size is made two; one that shrinks stays until it is empty."""
        size = SEGMENT_ROWS if len(rows) >= 2 * SEGMENT_ROWS else max(1, len(rows))
        made = _segments(rows, size)
        return JoinedRows((*self.segments[:at], *made, *self.segments[at + 1 :]))


def _segments(rows: Mapping[ModelId, bytes], size: int) -> Iterable[Segment]:
    ids = sorted(rows)  # without the rows: to compare pairs would take ten times as long
    return (Segment.of({key: rows[key] for key in ids[at : at + size]}) for at in range(0, len(ids), size))
