"""Where the config store keeps its texts (§9): named objects with `/` in the names, one Protocol for all backends."""

from typing import Protocol


class Backend(Protocol):
    """Blocking; called off the loop. Each call raises StorageError."""

    def read_text(self, name: str) -> str | None:
        """The whole object as UTF-8; None where there is none."""
        ...

    def list_names(self, prefix: str) -> tuple[str, ...]:
        """The names directly under `prefix/`, without it, in order."""
        ...


class StorageError(Exception):
    """The backend could not do what was asked; nothing is known of the object."""
