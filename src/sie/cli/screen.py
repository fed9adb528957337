"""What people see while the system starts, runs and stops: a state per process, and notes; here as plain lines.

On a terminal `live` draws the same as lines that change in place.
"""

from collections.abc import Callable
from typing import Protocol

import attrs


class Screen(Protocol):
    def state(self, name: str, text: str) -> None:
        """What a process is doing now; the same again is not shown again."""

    def note(self, text: str) -> None:
        """Something that happened, and stays to be read."""

    def tick(self) -> None:
        """Called a few times a second while the system starts: what moves may move on."""

    def close(self) -> None:
        """The system is up or will not be: leave the terminal as it was. What follows is plain lines."""


@attrs.define
class PlainScreen:
    """One line per change."""

    _write: Callable[[str], None]
    _shown: dict[str, str] = attrs.field(factory=dict)

    def state(self, name: str, text: str) -> None:
        if self._shown.get(name) != text:
            self._shown[name] = text
            self._write(f"{name}: {text}")

    def note(self, text: str) -> None:
        self._write(text)

    def tick(self) -> None:
        """Nothing moves."""

    def close(self) -> None:
        """Nothing is held."""
