"""What does the broker hold of one client connection? Its subscriptions, and what it has sent and nobody has read.

Order is that of sending; a client that reads too slowly is cut off, as nats-server does. Sans-IO.
"""

from collections import deque
from collections.abc import Callable

import attrs

from sie.bus.api import Message
from sie.bus.limits import header_bytes

MAX_PENDING_BYTES = 64 * 1024 * 1024  # nats-server's default; beyond it the client is a slow consumer


@attrs.frozen(eq=False)
class Subscribed:
    """One subscription; `order` is its place among all that were ever made."""

    link: "Link"
    order: int
    number: int
    pattern: str
    queue: str


@attrs.frozen
class Sent:
    """One message on its way to subscription `number`."""

    number: int
    message: Message
    sent_s: float
    size_bytes: int


@attrs.define(eq=False)
class Link:
    """`on_sent` hears of everything that is sent on it, `on_closed` of its end."""

    name: str
    on_sent: Callable[[], None]
    on_closed: Callable[[], None]
    max_pending_bytes: int = MAX_PENDING_BYTES
    subscriptions: dict[int, Subscribed] = attrs.field(factory=dict, init=False)
    sent: deque[Sent] = attrs.field(factory=deque, init=False)
    pending_bytes: int = attrs.field(default=0, init=False)
    closed_because: str = attrs.field(default="", init=False)

    @property
    def is_open(self) -> bool:
        return not self.closed_because

    def send(self, number: int, message: Message, now_s: float) -> bool:
        """False: it has too much unread already, and has to be cut off."""
        size_bytes = len(message.data) + header_bytes(message.headers)
        self.pending_bytes += size_bytes
        self.sent.append(Sent(number, message, now_s, size_bytes))
        self.on_sent()
        return self.pending_bytes <= self.max_pending_bytes

    def read(self) -> Sent:
        sent = self.sent.popleft()
        self.pending_bytes -= sent.size_bytes
        return sent

    def close(self, reason: str, *, loses: bool) -> None:
        self.closed_because = reason
        if loses:
            self.sent.clear()
            self.pending_bytes = 0
        self.on_closed()
