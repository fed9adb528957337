"""What lies between one client and the broker? Delay, silence and loss, as a simulation sets them. Sans-IO."""

from collections.abc import Callable

import attrs

from sie.bus.api import Message
from sie.testing.broker.subjects import matches


@attrs.define
class _Drop:
    left: int
    pattern: str


@attrs.define(eq=False)
class Network:
    """One client's way to the broker and back; it outlives the connections on it.

    `latency_s` is that of each direction; order within a connection is kept. `blocked` lets nothing through in either
    direction and loses nothing, until one side gives the connection up. Dropping is for what NATS may lose, too: core
    messages, replies, acks. A JetStream delivery is never dropped; its loss is that of a connection.
    """

    latency_s: float = 0.0
    on_change: Callable[[], None] = attrs.field(default=lambda: None)
    dropped: int = attrs.field(default=0, init=False)
    _blocked: bool = attrs.field(default=False, init=False)
    _to_client: list[_Drop] = attrs.field(factory=list, init=False)
    _to_broker: list[_Drop] = attrs.field(factory=list, init=False)

    @property
    def blocked(self) -> bool:
        return self._blocked

    @blocked.setter
    def blocked(self, blocked: bool) -> None:
        self._blocked = blocked
        self.on_change()

    def drop_next(self, count: int = 1, *, pattern: str = ">") -> None:
        """Lose the next messages to the client that fall under the pattern."""
        self._to_client.append(_Drop(count, pattern))

    def drop_next_sent(self, count: int = 1, *, pattern: str = ">") -> None:
        """Lose the next messages from the client: `$JS.ACK.>` for its acks."""
        self._to_broker.append(_Drop(count, pattern))

    def loses_received(self, message: Message) -> bool:
        return not message.reply.startswith("$JS.ACK.") and self._loses(self._to_client, message.subject)

    def loses_sent(self, subject: str) -> bool:
        return self._loses(self._to_broker, subject)

    def _loses(self, drops: list[_Drop], subject: str) -> bool:
        for drop in drops:
            if matches(drop.pattern, subject):
                drop.left -= 1
                self.dropped += 1
                if not drop.left:
                    drops.remove(drop)
                return True
        return False
