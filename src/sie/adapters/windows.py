"""A text that is longer than a row, in windows that overlap: every token is answered for once, and sees its neighbours.

Pure: counts in, ranges out.
"""

from collections.abc import Iterator

import attrs


@attrs.frozen
class Window:
    """Tokens `start` to `end` of a text are read, and `kept_from` to `kept_to` answered for."""

    start: int
    end: int
    kept_from: int
    kept_to: int


def plan_windows(tokens: int, *, room: int, overlap: int) -> tuple[Window, ...]:
    """One, perhaps empty, for a text that fits. `overlap`, less than `room`, is what a window shares with the next."""
    starts = range(0, max(1, tokens - overlap), room - overlap)
    return tuple(_windows(starts, tokens, room, overlap))


def _windows(starts: range, tokens: int, room: int, overlap: int) -> Iterator[Window]:
    """Of what two share, each keeps the half that is further from its edge."""
    kept_from = 0
    for start in starts:
        end = min(tokens, start + room)
        kept_to = tokens if end == tokens else end - overlap // 2
        yield Window(start, end, kept_from, kept_to)
        kept_from = kept_to
