"""`/ws/cluster-status` (§14, wire-facts 4.2): the state of the cluster as one JSON text frame a second.

All readers of one second get the same frame, made when the first of them wants it. For one that reads too slowly
nothing is kept: its connection ends.
"""

import logging
from collections.abc import Callable
from functools import partial

import attrs
import orjson
import trio

from sie.gateway.http.services import Services
from sie.web.routes import Request, Send, SocketRoute

log = logging.getLogger(__name__)

FRAME_S = 1.0
WRITE_S = 5.0
"""Seconds that one frame may take to be handed to the network."""


@attrs.define(eq=False)
class Feed:
    make: Callable[[], str]
    _second: int = attrs.field(default=-1, init=False)
    _frame: str = attrs.field(default="", init=False)

    def frame(self) -> str:
        second = int(trio.current_time() // FRAME_S)
        if second != self._second:
            self._second, self._frame = second, self.make()
        return self._frame

    async def tell(self, _: Request, send: Send) -> None:
        """Until the reader leaves, which cancels it, or is too slow."""
        while True:
            with trio.move_on_after(WRITE_S) as writing:
                await send(self.frame())
            if writing.cancel_called:
                log.info("a reader of the cluster's state is too slow and is dropped")
                return
            await trio.sleep_until((self._second + 1) * FRAME_S)


def sockets(services: Services) -> tuple[SocketRoute, ...]:
    return (SocketRoute("/ws/cluster-status", Feed(partial(frame_of, services)).tell),)


def frame_of(services: Services) -> str:
    """What `/health` answers, with the moment in unix seconds."""
    return orjson.dumps({"timestamp": services.machine.unix_s(), **services.health()}).decode()
