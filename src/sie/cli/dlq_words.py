"""What does a person read of a dead letter (§8)? Rows of a list, and the whole of one as JSON. Pure."""

import base64
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isfinite

import attrs

from sie.domain.subjects import DEAD_LETTERS_ALL
from sie.wire.codec import unpack
from sie.wire.converters import WireError
from sie.wire.dead_letter import DeadLetter
from sie.wire.work import decode_work

HEAD = ("SEQ", "TIME", "MODEL", "TRIES", "OPERATION", "REQUEST", "WHY")
MAX_WORDS = 60
UNKNOWN = "-"


@attrs.frozen(kw_only=True)
class Kept:
    """One letter as it lies in its stream; `letter` None where it cannot be read, and `problem` says why."""

    seq: int
    at: datetime
    subject: str
    letter: DeadLetter | None
    problem: str = ""

    @property
    def token(self) -> str:
        """The model's, as far as a subject tells it."""
        return self.subject.removeprefix(DEAD_LETTERS_ALL[:-1])


@attrs.frozen(kw_only=True)
class Row:
    seq: int
    time: str
    model: str
    deliveries: int | None
    operation: str | None
    request_id: str | None
    work_item_id: str | None
    why: str


def row_of(kept: Kept) -> Row:
    letter = kept.letter
    item = None if letter is None or letter.work is None else _item(letter.work)
    return Row(
        seq=kept.seq,
        time=kept.at.isoformat(timespec="seconds"),
        model=kept.token,
        deliveries=None if letter is None else letter.advisory.deliveries,
        operation=item and item[0],
        request_id=item and item[1],
        work_item_id=item and item[2],
        why=kept.problem if letter is None else why(letter),
    )


def why(letter: DeadLetter) -> str:
    """The worker's words, or that the deliveries ran out; and that the work does not lie here."""
    told = letter.advisory.told.get("error")
    words = told if isinstance(told, str) else "deliveries ran out"
    return words if letter.work is not None else f"{words}; the work ({letter.work_bytes} bytes) does not lie here"


def table(rows: Sequence[Row]) -> list[str]:
    """The columns side by side; the last is as long as it is."""
    cells = [HEAD, *map(_cells, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEAD))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def whole(kept: Kept, work: bytes | None) -> Mapping[str, object]:
    """Everything that can be read of it. `work` may have been found elsewhere."""
    letter = kept.letter
    if letter is None:
        return {"seq": kept.seq, "time": kept.at.isoformat(), "subject": kept.subject, "problem": kept.problem}
    return {
        "seq": kept.seq,
        "time": kept.at.isoformat(),
        "subject": kept.subject,
        "work_subject": letter.subject,
        "advisory": letter.advisory.told,
        "work_item_bytes": letter.work_bytes,
        "work_item": None if work is None else readable_work(work),
    }


def readable_work(data: bytes) -> object:
    """A message that is no msgpack document is shown as it is, in base64."""
    try:
        return readable(unpack(data))
    except WireError as error:
        return {"problem": str(error), "base64": base64.b64encode(data).decode()}


def readable(value: object) -> object:
    """The same with JSON's types alone: arrays and images are told by their length."""
    match value:
        case float() if not isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return f"<{len(value)} bytes>"
        case Mapping():
            return {_key(key): readable(inner) for key, inner in value.items()}
        case list() | tuple():
            return [readable(inner) for inner in value]
        case _:
            return str(value)


def _key(key: object) -> str:
    return key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else str(key)


def _item(work: bytes) -> tuple[str, str, str] | None:
    try:
        item = decode_work(work)
    except WireError:
        return None
    return item.operation, item.request_id, item.work_item_id


def _cells(row: Row) -> tuple[str, ...]:
    found = (row.seq, row.time, row.model, row.deliveries, row.operation, row.request_id, row.why[:MAX_WORDS])
    return tuple(UNKNOWN if value is None else _one_line(str(value)) for value in found)


def _one_line(text: str) -> str:
    """Nothing that was sent to a model moves the cursor of whoever looks at it."""
    return "".join(char if char.isprintable() else " " for char in text)
