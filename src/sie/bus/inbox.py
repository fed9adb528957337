"""Whose is a message that came to the inbox? (§16.2) One wildcard subscription, told apart by subject. Sans-IO.

`{inbox}._ack.{n}` answers correlation n, or nobody once that is forgotten; everything else is the inbox handler's.
Deadlines belong to whoever correlates.
"""

import itertools
from collections.abc import Iterator

import attrs
import msgspec

from sie.bus.api import Handler, Message

ACK_TOKEN = "_ack"  # noqa: S105 - a token of a subject


@attrs.define
class Inbox:
    """The correlation table of one bus."""

    prefix: str
    _waiting: dict[str, Handler] = attrs.field(factory=dict, init=False)
    _numbers: Iterator[int] = attrs.field(factory=lambda: itertools.count(1), init=False)
    _other: Handler | None = attrs.field(default=None, init=False)
    _acks: str = attrs.field(init=False)
    """What the subject of every correlation begins with."""

    @_acks.default
    def _(self) -> str:
        return f"{self.prefix}.{ACK_TOKEN}."

    @property
    def pattern(self) -> str:
        return f"{self.prefix}.>"

    def correlate(self, on_reply: Handler) -> "InboxCorrelation":
        subject = f"{self._acks}{next(self._numbers)}"
        self._waiting[subject] = on_reply
        return InboxCorrelation(subject, self)

    def forget(self, subject: str) -> None:
        self._waiting.pop(subject, None)

    def on_inbox(self, handler: Handler) -> None:
        self._other = handler

    def receive(self, message: Message) -> None:
        """Call the one handler that this message is for; a late answer has none."""
        handler = self._waiting.get(message.subject)
        if handler is not None:
            handler(message)
        elif self._other is not None and not message.subject.startswith(self._acks):
            self._other(message)

    def __len__(self) -> int:
        return len(self._waiting)


class InboxCorrelation(msgspec.Struct, frozen=True):
    subject: str
    _inbox: Inbox

    def forget(self) -> None:
        self._inbox.forget(self.subject)
