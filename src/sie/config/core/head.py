"""What does the config store's every object say (§9)? The head, the model files and the epoch file, as text and back.

`head` holds the last committed write whole: replacing it is the commit. The model file and the epoch file follow it.
A model file begins with a comment that names the epoch of its write: it makes the text one that never comes again,
which versions need (storage/backend.py), and it tells how far a store had come that lost its other files.
"""

import json
import re
from collections.abc import Iterable

import attrs

from sie.config.core.catalog import Document
from sie.config.core.write import Change
from sie.domain.ids import ModelId
from sie.storage.backend import StorageError

HEAD = "head"
EPOCH = "epoch"
MODELS = "models"
SUFFIX = ".yaml"

MAX_EPOCH = 2**63 - 1
MAX_NAME_BYTES = 255  # of a file on the disks there are; a head whose file cannot be made would never be settled

_MARK = re.compile(r"# sie-config epoch ([0-9]{1,19})(?:: removed)?\n")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EPOCH = re.compile(r"[0-9]{1,19}")


@attrs.frozen
class Head:
    """`writer` names one write for ever, whoever repeats it; `stamp` differs in every text written as the head."""

    epoch: int
    writer: str
    stamp: str
    write: Change

    def is_write_of(self, other: "Head") -> bool:
        return self.writer == other.writer


class Unreadable(StorageError):
    """The object is not as a config store writes it; the message names it and what is wrong with it."""


def head_text(head: Head) -> str:
    write = {"model_id": head.write.model_id, "text": head.write.text}
    return json.dumps(
        {"epoch": head.epoch, "writer": head.writer, "stamp": head.stamp, "write": write}, ensure_ascii=False
    )


def read_head(text: str) -> Head:
    """Raises Unreadable; nothing in it is guessed."""
    if not _is_text(text):
        raise Unreadable(f"{HEAD} is no UTF-8")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{HEAD} is no JSON: {error}") from error
    match document:
        case {
            "epoch": int(epoch),
            "writer": str(writer),
            "stamp": str(stamp),
            "write": {"model_id": str(model_id), "text": str() | None as written},
        } if not isinstance(epoch, bool) and 0 < epoch <= MAX_EPOCH:
            return Head(epoch, writer, stamp, Change(ModelId(model_id), written))
        case _:
            raise Unreadable(f"{HEAD} lacks epoch, writer, stamp or write, or one has another kind: {text[:80]!r}")


def read_epoch(text: str) -> int | None:
    """None where it is no number that an epoch can be."""
    digits = text.strip()
    if not _EPOCH.fullmatch(digits) or int(digits) > MAX_EPOCH:
        return None
    return int(digits)


def file_name(model_id: ModelId) -> str:
    return f"{model_id.replace('/', '__')}{SUFFIX}"


def model_file(change: Change, epoch: int) -> str:
    if change.text is None:
        return f"# sie-config epoch {epoch}: removed\n"
    return f"# sie-config epoch {epoch}\n{change.text}"


def model_text(file: str) -> str | None:
    """The document as it was written; None where the file says that the model is removed."""
    text = _MARK.sub("", file, count=1) if _MARK.match(file) else file
    return text if text.strip() else None


def model_epoch(file: str) -> int:
    """Of the write that made the file; 0 where that is not told, as by the published service."""
    match = _MARK.match(file)
    return int(match[1]) if match else 0


def documents_of(files: Iterable[tuple[str, str]], pending: Head | None) -> tuple[Document, ...]:
    """By name, with what the head has and the files still lack. Raises Unreadable naming the file that is no text."""
    texts = {name: model_text(text) for name, text in files if name.endswith(SUFFIX)}
    if pending:
        texts[file_name(pending.write.model_id)] = pending.write.text
    found = [Document(f"{MODELS}/{name}", text) for name, text in sorted(texts.items()) if text is not None]
    for document in found:
        if not _is_text(document.text):
            raise Unreadable(f"{document.name} is no UTF-8")
    return tuple(found)


def problem_of(change: Change, epoch: int) -> str | None:
    """What is wrong with a change after `epoch` that could be committed and never be written out, or read back."""
    name = file_name(change.model_id)
    if epoch >= MAX_EPOCH:
        return f"epoch {epoch} is the highest there can be"
    if not _FILE.fullmatch(name):
        return f"model id {change.model_id!r} makes no file name"
    if len(name) > MAX_NAME_BYTES:
        return f"model id of {len(change.model_id)} characters: its file name is over {MAX_NAME_BYTES} bytes"
    if change.text is not None and not change.text.strip():
        return f"model {change.model_id}: the document is blank, which would read as removed"
    if change.text is not None and not _is_text(change.text):
        return f"model {change.model_id}: the document has no UTF-8 form"
    return None


def _is_text(text: str) -> bool:
    """Half of a surrogate pair, which also stands for a byte that was no UTF-8, is none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
