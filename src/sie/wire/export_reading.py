"""How does a reader take an export of tens of megabytes without standing still (§4.1)? Row by row.

The JSON library reads a document in one call that nothing can come between, not even another thread; reading the rows
of `models` one by one lets the loop run after each.
"""

import json
from collections.abc import Mapping

import attrs

from sie.wire.configs_api import ExportReply, ExportRow
from sie.wire.converters import TOLERANT, Problem, WireError, structure

_DECODER = json.JSONDecoder()
_SPACE = " \t\n\r"
ROWS = "models"


def read_export_bytes(body: bytes) -> ExportReply:
    """Raises WireError, as if the whole had been read at once."""
    try:
        reader = _Reader(body.decode())
        head, rows = reader.read_top()
    except (ValueError, IndexError, RecursionError) as error:
        raise WireError.at(message=f"not a JSON document: {str(error) or 'it ends too early'}") from error
    if rows is None:
        raise WireError.at(ROWS, message="is required")
    whole = structure(TOLERANT, {**head, ROWS: []}, ExportReply)
    return attrs.evolve(whole, models=tuple(_row(number, row) for number, row in enumerate(rows)))


def _row(number: int, row: object) -> ExportRow:
    try:
        return structure(TOLERANT, row, ExportRow)
    except WireError as error:
        raise WireError([Problem((ROWS, number, *p.loc), p.message) for p in error.problems]) from error


class _Reader:
    """A place in a text; every call moves past what it read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read_top(self) -> tuple[Mapping[str, object], list[object] | None]:
        """A map's members, those of `models` apart. Raises ValueError or IndexError."""
        head: dict[str, object] = {}
        rows: list[object] | None = None
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
        if self._text[self._at :].strip(_SPACE):
            raise ValueError("there is more after the end")
        return head, rows

    def _list(self) -> list[object]:
        found: list[object] = []
        self._take("[")
        if self._took("]"):
            return found
        while True:
            found.append(self._value())
            if self._took("]"):
                return found
            self._take(",")

    def _value(self) -> object:
        self._peek()
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def _peek(self) -> str:
        while self._text[self._at] in _SPACE:
            self._at += 1
        return self._text[self._at]

    def _took(self, mark: str) -> bool:
        if self._peek() != mark:
            return False
        self._at += 1
        return True

    def _take(self, mark: str) -> None:
        if not self._took(mark):
            raise ValueError(f"{mark!r} is missing at character {self._at}")
