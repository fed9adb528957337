"""Where does the config store keep its texts (§9)? In named objects, with `/` in the names, behind one Protocol.

A write is a compare-and-swap or it is nothing: no backend has a plain overwrite, so that a second writer is always
seen. None removes either: an absence has no version, and a late writer would take it for the one it had read.
"""

import re
from typing import Protocol

import attrs


@attrs.frozen
class Versioned:
    """`version` is opaque. It may come again with the same text (S3's are digests of it), so what is written more than
    once under a name must hold something that never comes again.
    """

    text: str
    version: str


@attrs.frozen
class Named:
    name: str
    text: str


class Backend(Protocol):
    """Blocking, bounded in time, called off the loop. Texts are UTF-8, kept to the byte; a byte that is none is read as
    a lone surrogate, which cannot be written back.
    """

    def read_versioned(self, name: str) -> Versioned | None:
        """None where there is no such object. Raises StorageError."""
        ...

    def compare_and_swap(self, name: str, text: str, version: str | None) -> str:
        """Write `text` if the object still has `version` (None: if there is no object); returns the new version.

        It is written whole or not at all, and durable on return. Raises VersionConflict where the object has another
        version, OutcomeUnknown where it may have been written, any other StorageError where it was not.
        """
        ...

    def read_folder(self, prefix: str) -> tuple[Named, ...]:
        """The objects directly under `prefix/`, by name, without those that begin with a dot. Raises StorageError."""
        ...


class StorageError(Exception):
    """The backend could not do what was asked, and nothing was changed."""


class VersionConflict(StorageError):
    """The object does not have the version that the write was made for."""


class OutcomeUnknown(StorageError):
    """The one StorageError after which the write may have been done, or may still be."""


class StoreConfigError(StorageError):
    """The address that a setting gives cannot be a store; found before anything is read."""


_NAME = re.compile(r"(?![.])[\w.-]+(?:/(?![.])[\w.-]+)*", re.ASCII)


def checked(name: str) -> str:
    """A name that leads nowhere but under the root. Raises StorageError."""
    if not _NAME.fullmatch(name):
        raise StorageError(
            f"object name {name!r} must be parts of [A-Za-z0-9_.-] that begin with no dot, joined by '/'"
        )
    return name


def decoded(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def encoded(name: str, text: str) -> bytes:
    """Raises StorageError for a text that has no bytes: half of a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise StorageError(f"{name}: the text cannot be stored as UTF-8: {error}") from error
