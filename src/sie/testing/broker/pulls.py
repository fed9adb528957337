"""Which pull request takes the next message, and how does the server end one? One consumer's waiting list. Sans-IO.

Requests are served in turn, one message each; the statuses and their words are nats-server's.
"""

import json
from collections import deque
from collections.abc import Callable
from math import inf

import attrs

from sie.bus.api import Message
from sie.bus.jetstream_api import NS_PER_S
from sie.testing.broker.configs import MAX_WAITING, integer


@attrs.frozen
class PullRequest:
    """`expires_s` None: it names no time."""

    batch: int
    expires_s: float | None
    no_wait: bool


@attrs.define(eq=False)
class Pull:
    """One request that waits. `until_s` is infinite for one that waits for ever."""

    reply: str
    remaining: int
    until_s: float
    no_wait: bool
    served: int = attrs.field(default=0, init=False)


@attrs.define(eq=False)
class WaitingPulls:
    """`has_interest` tells whether anybody still listens to a reply subject; `end` sends a status to one.

    No request is over before `due_s`, unless it is one that would not wait or that nobody listens to any more.
    `silenced` counts who has stopped to listen anywhere: while it stands still, those that were looked at are wanted.
    """

    has_interest: Callable[[str], bool]
    silenced: Callable[[], int]
    end: Callable[[Message], None]
    due_s: float = attrs.field(default=inf, init=False)
    _impatient: bool = attrs.field(default=False, init=False)
    _looked_at: int = attrs.field(default=-1, init=False)
    _pulls: deque[Pull] = attrs.field(factory=deque, init=False)

    def __len__(self) -> int:
        return len(self._pulls)

    def add(self, pull: Pull, now_s: float) -> bool:
        """False: too many wait already."""
        if len(self) >= MAX_WAITING:
            self.sweep(now_s)
        if len(self) >= MAX_WAITING:
            return False
        self._pulls.append(pull)
        self._looked_at = -1
        self.due_s = min(self.due_s, pull.until_s)
        self._impatient = self._impatient or pull.no_wait
        return True

    def take(self, now_s: float) -> Pull | None:
        """The request whose turn it is; it goes to the end of the list while it wants more."""
        while self._pulls:
            pull = self._pulls.popleft()
            if pull.until_s <= now_s:
                self.end(ended(pull, "408", "Request Timeout"))
            elif self.has_interest(pull.reply):
                pull.served += 1
                pull.remaining -= 1
                if pull.remaining:
                    self._pulls.append(pull)
                return pull
        return None

    def end_over(self, now_s: float, *, exhausted: bool) -> None:
        """End what is over. `exhausted`: there is nothing to deliver, so one that would not wait has had its share."""
        if self.due_s <= now_s or (exhausted and self._impatient) or self._looked_at != self.silenced():
            self.sweep(now_s, exhausted=exhausted)

    def sweep(self, now_s: float, *, exhausted: bool = False) -> None:
        """Also drop the requests that nobody listens to any more."""
        pulls, self._pulls = self._pulls, deque()
        for pull in pulls:
            if pull.until_s <= now_s:
                self.end(ended(pull, "408", "Request Timeout"))
            elif exhausted and pull.no_wait and (pull.served or pull.until_s == inf):
                self.end(status(pull.reply, "404", "No Messages"))
            elif self.has_interest(pull.reply):
                self._pulls.append(pull)
        self.due_s = min((pull.until_s for pull in self._pulls), default=inf)
        self._impatient = any(pull.no_wait for pull in self._pulls)
        self._looked_at = self.silenced()

    def take_all(self) -> tuple[Pull, ...]:
        pulls = tuple(self._pulls)
        self._pulls.clear()
        self.due_s, self._impatient = inf, False
        return pulls

    def wanted(self) -> int:
        return sum(pull.remaining for pull in self._pulls)


def status(reply: str, code: str, description: str) -> Message:
    return Message(reply, b"", headers={"Status": code, "Description": description})


def ended(pull: Pull, code: str, description: str) -> Message:
    """With what it still wanted."""
    pending = {"Nats-Pending-Messages": str(pull.remaining), "Nats-Pending-Bytes": "0"}
    return Message(pull.reply, b"", headers={"Status": code, "Description": description, **pending})


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
