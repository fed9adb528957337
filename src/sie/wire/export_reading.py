"""How does a reader take an export of tens of megabytes without standing still (§4.1)? Row by row.

The JSON library reads a document in one call that nothing can come between, not even another thread; reading the rows
of `models` one by one lets the loop run after each.
"""

import json
from codecs import iterdecode
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

import attrs

from sie.wire.configs_api import ExportReply, ExportRow
from sie.wire.converters import TOLERANT, Problem, WireError, structure

_DECODER = json.JSONDecoder()
_SPACE = " \t\n\r"
_OPEN_END = 3
"""So many characters behind a number tell that it is whole: what comes after `1e+` may belong to it."""
ROWS = "models"


def read_export_bytes(body: bytes) -> ExportReply:
    """Raises WireError, as if the whole had been read at once."""
    return read_export_parts([body])


def read_export_parts(parts: Iterable[bytes]) -> ExportReply:
    """The same from a body as it came, in parts of any size: none of the steps is over the whole of it."""
    try:
        head, rows = _Reader(iterdecode(parts, "utf-8")).read_top()
    except (ValueError, IndexError, RecursionError) as error:
        raise WireError.at(message=f"not a JSON document: {str(error) or 'it ends too early'}") from error
    if rows is None:
        raise WireError.at(ROWS, message="is required")
    whole = structure(TOLERANT, {**head, ROWS: []}, ExportReply)
    models: list[ExportRow] = []
    while rows:
        models.append(_row(len(models), rows.popleft()))
    return attrs.evolve(whole, models=tuple(models))


def _row(number: int, row: object) -> ExportRow:
    try:
        return structure(TOLERANT, row, ExportRow)
    except WireError as error:
        raise WireError([Problem((ROWS, number, *p.loc), p.message) for p in error.problems]) from error


class _Reader:
    """A place in a text; every call moves past what it read. `pieces` are the text, taken as they are needed."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._text = ""
        self._at = 0

    def read_top(self) -> tuple[Mapping[str, object], deque[object] | None]:
        """A map's members, those of `models` apart. Raises ValueError or IndexError."""
        head: dict[str, object] = {}
        rows: deque[object] | None = None
        self._take("{")
        if not self._took("}"):
            while True:
                name = self._value()
                self._take(":")
                if name == ROWS and self._peek() == "[":
                    rows = self._list()
                else:
                    head[str(name)] = self._value()
                if self._took("}"):
                    break
                self._take(",")
        if self._text[self._at :].strip(_SPACE) or any(piece.strip(_SPACE) for piece in self._pieces):
            raise ValueError("there is more after the end")
        return head, rows

    def _list(self) -> deque[object]:
        found: deque[object] = deque()
        self._take("[")
        if self._took("]"):
            return found
        while True:
            found.append(self._value())
            if self._took("]"):
                return found
            self._take(",")

    def _value(self) -> object:
        """One that may go on in the next piece is read again with it."""
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError:
                if not self._more():
                    raise
                continue
            length = end - self._at
            if end + _OPEN_END <= len(self._text) or not self._more():
                self._at += length
                return value

    def _more(self) -> bool:
        """At least twice the text that is left, so that a long value is not read again for each of its pieces; False at
        the end.
        """
        left = self._text[self._at :]
        taken, size = [left], 0
        for piece in self._pieces:
            taken.append(piece)
            size += len(piece)
            if size > len(left):
                break
        if size:
            self._text, self._at = "".join(taken), 0
        return size > 0

    def _peek(self) -> str:
        """Raises IndexError at the end."""
        while self._at == len(self._text) or self._text[self._at] in _SPACE:
            if self._at < len(self._text):
                self._at += 1
            elif not self._more():
                raise IndexError
        return self._text[self._at]

    def _took(self, mark: str) -> bool:
        if self._peek() != mark:
            return False
        self._at += 1
        return True

    def _take(self, mark: str) -> None:
        if not self._took(mark):
            raise ValueError(f"{mark!r} is missing before {self._text[self._at : self._at + 20]!r}")
