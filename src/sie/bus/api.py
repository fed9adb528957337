"""What a service may ask of core NATS (§8): values, errors and one small Protocol per role.

`sie.bus.nats.open_bus` is the real thing; the JetStream calls of `sie.bus.jetstream` are written on these Protocols
alone. Handlers are plain functions that the bus calls as messages arrive: they must not block, and an error in one ends
the bus. What is made for every message is a struct of msgspec, at a fraction of what a frozen class of attrs costs.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

NO_HEADERS: Mapping[str, str] = {}


class Message(msgspec.Struct, frozen=True):
    """One message as it arrived. `reply` is `""` where the sender asked for no answer."""

    subject: str
    data: bytes
    reply: str = ""
    headers: Mapping[str, str] = NO_HEADERS

    @property
    def status(self) -> str:
        """The server's inline status (`"503"` no responders; `"404"`, `"408"`, `"409"` on pulls), `""` on messages."""
        return self.headers.get("Status", "")


Handler = Callable[[Message], None]


class BusError(Exception):
    """The bus could not take or answer something; the caller decides what that means for its own request."""


class NotConnected(BusError):
    """There is no connection to the broker now; nothing was sent or kept."""


class OutboxFull(BusError):
    """More bytes wait to be sent than the outbox may hold; nothing was kept."""


class MessageTooLarge(BusError):
    """Payload and headers together exceed the broker's max_payload, which would close the whole connection."""

    def __init__(self, subject: str, size_bytes: int, max_bytes: int) -> None:
        super().__init__(
            f"message of {size_bytes} bytes on {subject} exceeds the broker's max_payload of {max_bytes} bytes"
        )
        self.size_bytes = size_bytes
        self.max_bytes = max_bytes


class NoResponders(BusError):
    """Nobody listens on the subject of a request (for a JetStream subject: no stream takes it)."""


class ReplyTimeout(BusError):
    """No answer came within the caller's bound; whether the request was acted on is unknown."""


class Correlation(Protocol):
    """A reply subject with its callback. It answers until `forget` is called; replies after that are dropped."""

    @property
    def subject(self) -> str: ...

    def forget(self) -> None: ...


class Publisher(Protocol):
    """Fire and forget, as safe as the connection: what waits in the outbox when that breaks is lost with it.

    `publish_nowait` raises NotConnected, OutboxFull or MessageTooLarge, ValueError on a subject or header that cannot
    be sent at all; and then nothing was sent.
    """

    @property
    def max_payload(self) -> int: ...

    def publish_nowait(
        self, subject: str, data: bytes, *, reply: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> None: ...


class Subscriber(Protocol):
    """A subscription lives as long as its `async with`, through every reconnect; entering never waits for the broker.

    What is published after entering reaches the broker after the subscription. Leaving waits shortly for the broker to
    stop: what it had sent by then still reaches the handler, nothing does after the block.
    """

    def subscribe(self, subject: str, handler: Handler, *, queue: str = "") -> AbstractAsyncContextManager[None]: ...


class Replies(Protocol):
    """The one wildcard inbox `{inbox}.>`: `correlate` hands out `{inbox}._ack.{n}`, the inbox handler has all else."""

    @property
    def inbox(self) -> str: ...

    def correlate(self, on_reply: Handler) -> Correlation: ...

    def on_inbox(self, handler: Handler) -> None:
        """Take every inbox message that answers no correlation (§16.2: results on `{inbox}.{request_id}`)."""
        ...


class Sessions(Protocol):
    """A session is one unbroken connection, numbered from 1; streams in memory may be gone in the next one.

    When a session's number shows, every subscription made so far stands at the broker.
    """

    @property
    def session(self) -> int:
        """The current session's number, 0 while there is no connection."""
        ...

    async def wait_session(self, *, newer_than: int = 0) -> int:
        """Wait until there is a connection whose number is above `newer_than`; return that number."""
        ...


class Bus(Publisher, Subscriber, Replies, Sessions, Protocol):
    """Everything one service holds of the broker."""


class OpenBus(Protocol):
    """How a service's world opens its bus, without waiting for the broker; `sie.bus.nats.open_bus` is the real one."""

    def __call__(self, url: str, *, inbox: str, name: str) -> AbstractAsyncContextManager[Bus]: ...
