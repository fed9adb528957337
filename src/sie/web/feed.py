"""A WebSocket that tells a state again and again (§14, wire-facts 1.11): one text frame a tick, the same for all.

A frame is made when the first reader wants it. For one that reads too slowly nothing is kept: its connection ends.
"""

import logging
import math
from collections.abc import Callable

import attrs
import trio

from sie.web.routes import Request, Send

log = logging.getLogger(__name__)

WRITE_S = 5.0
"""Seconds that one frame may take to be handed to the network."""
ROUNDING = 1e-6
"""Of a tick: who wakes up at one must not find that it is still to come."""


@attrs.define(eq=False)
class Feed:
    """Once `ends` is set each reader is told one last frame, and its connection is closed."""

    make: Callable[[], str]
    frame_s: float
    ends: trio.Event
    _until_s: float = attrs.field(default=-math.inf, init=False)
    _frame: str = attrs.field(default="", init=False)

    def frame(self) -> str:
        now_s = trio.current_time()
        if now_s >= self._until_s:
            self._until_s = (math.floor(now_s / self.frame_s + ROUNDING) + 1) * self.frame_s
            self._frame = self.make()
        return self._frame

    async def tell(self, _: Request, send: Send) -> None:
        """Until the reader leaves, which cancels it, or is too slow, or all is over."""
        is_last = False
        while not is_last:
            is_last = self.ends.is_set()
            with trio.move_on_after(WRITE_S) as writing:
                await send(self.make() if is_last else self.frame())
            if writing.cancel_called:
                log.info("a reader of the state is too slow and is dropped")
                return
            with trio.move_on_at(self._until_s):
                await self.ends.wait()
