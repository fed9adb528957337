"""Which pull request takes the next message, and how does the server end one? One consumer's waiting list. Sans-IO.

Requests are served in turn, one message each; the statuses and their words are nats-server's.
"""

import json
from collections import deque
from collections.abc import Callable

import attrs

from sie.bus.api import Message
from sie.bus.jetstream_api import NS_PER_S
from sie.testing.broker.configs import MAX_WAITING, integer


@attrs.frozen
class PullRequest:
    batch: int
    expires_s: float | None
    no_wait: bool


@attrs.define(eq=False)
class Pull:
    """One request that waits. `until_s` None: it waits for ever."""

    reply: str
    remaining: int
    until_s: float | None
    no_wait: bool
    served: int = attrs.field(default=0, init=False)

    def is_expired(self, now_s: float) -> bool:
        return self.until_s is not None and self.until_s <= now_s


@attrs.define(eq=False)
class WaitingPulls:
    """`has_interest` tells whether anybody still listens to a reply subject; `end` sends a status to one."""

    has_interest: Callable[[str], bool]
    end: Callable[[Message], None]
    _pulls: deque[Pull] = attrs.field(factory=deque, init=False)

    def __len__(self) -> int:
        return len(self._pulls)

    def add(self, pull: Pull) -> bool:
        """False: too many wait already."""
        if len(self) >= MAX_WAITING:
            return False
        self._pulls.append(pull)
        return True

    def take(self, now_s: float) -> Pull | None:
        """The request whose turn it is; it goes to the end of the list while it wants more."""
        while self._pulls:
            pull = self._pulls.popleft()
            if pull.is_expired(now_s):
                self.end(expired(pull))
            elif self.has_interest(pull.reply):
                pull.served += 1
                pull.remaining -= 1
                if pull.remaining:
                    self._pulls.append(pull)
                return pull
        return None

    def end_overdue(self, now_s: float, *, exhausted: bool) -> None:
        """End what is over. `exhausted`: there is nothing to deliver, so one that would not wait has had its share."""
        for pull in tuple(self._pulls):
            if pull.is_expired(now_s):
                self._drop(pull, expired(pull))
            elif exhausted and pull.no_wait and pull.served:
                self._drop(pull, status(pull.reply, "404", "No Messages"))
            elif not self.has_interest(pull.reply):
                self._pulls.remove(pull)

    def end_all(self, code: str, description: str) -> None:
        for pull in tuple(self._pulls):
            self._drop(pull, status(pull.reply, code, description))

    def clear(self) -> None:
        self._pulls.clear()

    def wanted(self) -> int:
        return sum(pull.remaining for pull in self._pulls)

    def next_due_s(self) -> float | None:
        return min((pull.until_s for pull in self._pulls if pull.until_s is not None), default=None)

    def _drop(self, pull: Pull, last_word: Message) -> None:
        self._pulls.remove(pull)
        self.end(last_word)


def status(reply: str, code: str, description: str) -> Message:
    return Message(reply, b"", headers={"Status": code, "Description": description})


def expired(pull: Pull) -> Message:
    pending = {"Nats-Pending-Messages": str(pull.remaining), "Nats-Pending-Bytes": "0"}
    return Message(pull.reply, b"", headers={"Status": "408", "Description": "Request Timeout", **pending})


def read_pull(data: bytes) -> PullRequest | None:
    """None: not a request; a bare number is a batch."""
    body = data.strip()
    if not body.startswith(b"{"):
        return PullRequest(int(body) if body.isdigit() else 1, None, no_wait=False)
    try:
        found = json.loads(body)
    except ValueError:
        return None
    expires_ns = integer(found, "expires", 0)
    return PullRequest(
        batch=max(integer(found, "batch", 1), 1),
        expires_s=expires_ns / NS_PER_S if expires_ns else None,
        no_wait=bool(found.get("no_wait", False)),
    )
