"""How does the double send one watch? Events as they happen, bookmarks, and an end that is orderly or is not."""

import json
from collections.abc import Awaitable, Callable, Iterable

import attrs
import trio

from sie.testing.kube.face import Watching, bookmark, error_event
from sie.testing.kube.model import KubeModel
from sie.testing.kube.refusing import Refused
from sie.testing.kube.resources import Document

BATCH = 50
"""Events in one piece of the body; a piece is sent in two, cut inside a line."""

Send = Callable[[bytes], Awaitable[None]]


class Cut(Exception):
    """The connection ends in the middle of the answer."""


@attrs.define(eq=False)
class Stream:
    """One watch in progress. `cut` and `expire` end it at its next turn."""

    model: KubeModel
    watching: Watching
    bookmark_s: float
    muted: bool = False
    _wake: trio.Event = attrs.field(factory=trio.Event, init=False)
    _ending: str = attrs.field(default="", init=False)

    @property
    def is_cut(self) -> bool:
        """Whether the connection has to end in the middle of the answer."""
        return self._ending == "cut"

    def wake(self) -> None:
        self._wake.set()

    def mute(self) -> None:
        """Nothing more is sent, its end included."""
        self.muted = True

    def cut(self) -> None:
        self._ending = "cut"
        self.wake()

    def expire(self) -> None:
        self._ending = "expire"
        self.wake()

    async def run(self, send: Send) -> None:
        ends_at = trio.current_time() + self.watching.timeout_s
        await self._send(send, self.watching.first)
        revision = await self._news(send, self.watching.revision, marked=False)  # of before this was woken by changes
        while not await self._waited(ends_at):
            revision = await self._news(send, revision, marked=not self._wake.is_set())
        if self._ending == "expire":
            await self._send(send, [error_event(410, "The resourceVersion for the provided watch is too old.")])
        elif self._ending == "cut":
            await send(b'{"type":"ADDED","object":{"metadata"')
        else:
            await self._news(send, revision, marked=True)

    async def _waited(self, ends_at: float) -> bool:
        """For a change, or until a bookmark is due; whether the watch is at its end."""
        due = trio.current_time() + self.bookmark_s
        if not self._ending:
            with trio.CancelScope(deadline=min(due, ends_at)):
                await self._wake.wait()
        while self.muted:
            await trio.sleep_forever()
        return bool(self._ending) or trio.current_time() >= ends_at

    async def _news(self, send: Send, revision: int, *, marked: bool) -> int:
        """Up to which revision everything is told; with a bookmark there, if it is `marked` and they are wanted."""
        self._wake = trio.Event()
        try:
            events = self.model.since(self.watching.scope, revision)
        except Refused as refused:
            await self._send(send, [{"type": "ERROR", "object": refused.status}])
            self.expire()
            return revision
        revision = self.model.revision
        if marked and self.watching.bookmarks:
            events.append(bookmark(self.watching.scope, revision))
        await self._send(send, events)
        return revision

    async def _send(self, send: Send, events: Iterable[Document]) -> None:
        lines = [json.dumps(event).encode() + b"\n" for event in events]
        for start in range(0, len(lines), BATCH):
            piece = b"".join(lines[start : start + BATCH])
            await send(piece[: len(piece) // 3])
            await send(piece[len(piece) // 3 :])
