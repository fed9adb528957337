"""How are the models' rows of the export kept (§3), so that an export has nothing left to do but to be sent?

In the order of their ids and joined already, some hundred to a segment. A write makes one segment anew, and shares all
the others with what was served before it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping

import attrs

from sie.domain.ids import ModelId

SEGMENT_ROWS = 512
"""Some 700 KB: the server spends far more on sending it than on asking for the next one."""


@attrs.frozen
class Segment:
    """Never empty. `text` has each row with a comma before it."""

    rows: Mapping[ModelId, bytes]
    text: bytes

    @classmethod
    def of(cls, rows: Mapping[ModelId, bytes]) -> "Segment":
        """`rows` are in the order of their ids."""
        return cls(rows, b"".join([b"," + row for row in rows.values()]))

    @property
    def first(self) -> ModelId:
        return next(iter(self.rows))


@attrs.frozen
class ExportRows:
    segments: tuple[Segment, ...] = ()

    @classmethod
    def of(cls, rows: Mapping[ModelId, bytes]) -> "ExportRows":
        return cls(tuple(_segments(sorted(rows.items()), SEGMENT_ROWS)))

    @property
    def chunks(self) -> tuple[bytes, ...]:
        """What stands between the brackets of the list, in pieces."""
        texts = [segment.text for segment in self.segments]
        return (texts[0][1:], *texts[1:]) if texts else ()

    def with_row(self, sie_id: ModelId, row: bytes) -> "ExportRows":
        """In place of the row of that id, if there is one."""
        at = self._place_of(sie_id)
        rows = self.segments[at].rows if self.segments else {}
        return self._replaced(at, {**rows, sie_id: row})

    def without_row(self, sie_id: ModelId) -> "ExportRows":
        at = self._place_of(sie_id)
        rows = self.segments[at].rows if self.segments else {}
        if sie_id not in rows:
            return self
        return self._replaced(at, {key: row for key, row in rows.items() if key != sie_id})

    def _place_of(self, sie_id: ModelId) -> int:
        """Of the segment that has the id, or would have it."""
        return max(0, bisect_right(self.segments, sie_id, key=lambda segment: segment.first) - 1)

    def _replaced(self, at: int, rows: Mapping[ModelId, bytes]) -> "ExportRows":
        """A segment that has grown to twice its size is made two; one that shrinks stays until it is empty."""
        size = SEGMENT_ROWS if len(rows) >= 2 * SEGMENT_ROWS else max(1, len(rows))
        made = _segments(sorted(rows.items()), size)
        return ExportRows((*self.segments[:at], *made, *self.segments[at + 1 :]))


def _segments(rows: list[tuple[ModelId, bytes]], size: int) -> Iterable[Segment]:
    return (Segment.of(dict(rows[at : at + size])) for at in range(0, len(rows), size))
