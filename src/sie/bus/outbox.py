"""What waits to be sent on one connection, in order and within a bound of bytes (§8). Sans-IO.

Subscribing stands in the same row as publishing, so that a request never overtakes the subscription its answer needs.
`sie.bus.nats` fills it from synchronous code and empties it in its one pump.
"""

from collections import deque
from collections.abc import Callable, Mapping

import attrs
import msgspec

from sie.bus.api import OutboxFull
from sie.bus.limits import HEADER_PREAMBLE_BYTES

# The protocol line and the object around a message: a million empty messages are not free either.
COMMAND_OVERHEAD_BYTES = 128


class Publish(msgspec.Struct, frozen=True):
    """`size_bytes` is payload and headers."""

    subject: str
    data: bytes
    reply: str
    headers: Mapping[str, str]
    size_bytes: int

    def encoded(self) -> bytes:
        """As NATS has it on the wire: PUB, or HPUB where there are headers."""
        if not self.headers:
            return b"".join((f"PUB {self.subject} {self.reply} {len(self.data)}\r\n".encode(), self.data, b"\r\n"))
        lines = "".join([f"{name}: {value.strip()}\r\n" for name, value in self.headers.items()])
        size = len(lines.encode()) + HEADER_PREAMBLE_BYTES
        head = f"HPUB {self.subject} {self.reply} {size} {size + len(self.data)}\r\nNATS/1.0\r\n{lines}\r\n"
        return b"".join((head.encode(), self.data, b"\r\n"))


@attrs.frozen
class Subscribe:
    """Make the remembered subscription of this number on the connection."""

    number: int


Command = Publish | Subscribe


@attrs.define
class Outbox:
    """An outbox lives as long as its connection: what was not sent when that breaks is lost with it, as on the wire."""

    max_bytes: int
    on_change: Callable[[], None]
    closed: bool = False
    _commands: deque[Command] = attrs.field(factory=deque, init=False)
    _held_bytes: int = attrs.field(default=0, init=False)

    def publish(self, command: Publish) -> None:
        """Raises OutboxFull. One message is always taken by an empty outbox, however small the bound."""
        weight = command.size_bytes + COMMAND_OVERHEAD_BYTES
        if self._held_bytes and self._held_bytes + weight > self.max_bytes:
            raise OutboxFull(f"outbox holds {self._held_bytes} of {self.max_bytes} bytes")
        self._held_bytes += weight
        self._put(command)

    def subscribe(self, number: int) -> None:
        """Never refused: there are few, and a service that cannot listen is not in service."""
        self._put(Subscribe(number))

    def take(self) -> Command | None:
        if not self._commands:
            return None
        command = self._commands.popleft()
        if isinstance(command, Publish):
            self._held_bytes -= command.size_bytes + COMMAND_OVERHEAD_BYTES
        return command

    def close(self) -> None:
        """Nothing more is coming; what is held may still be taken."""
        self.closed = True
        self.on_change()

    def __len__(self) -> int:
        return len(self._commands)

    def _put(self, command: Command) -> None:
        self._commands.append(command)
        self.on_change()
