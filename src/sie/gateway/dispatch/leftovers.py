"""The streams that killed workers left behind are deleted, once they are empty (§8.2). Every gateway that hears all
workers does so now and then; that another one was first changes nothing.
"""

import logging
from collections.abc import Callable, Iterable
from random import Random
from typing import NoReturn

import attrs
import trio

from sie.bus.api import BusError
from sie.bus.request import Requester
from sie.bus.streams import delete_stream, held_messages, stream_names
from sie.domain.ids import WorkerId
from sie.gateway.core.leftovers import Leftovers

log = logging.getLogger(__name__)

LOOK_S = 600.0
JITTER = 0.2
"""The part of an interval by which a wait may be shorter, so that gateways do not look in step."""


@attrs.frozen
class Sweep:
    """`workers` are all that are heard of now."""

    bus: Requester
    workers: Callable[[], Iterable[WorkerId]]
    random: Random
    leftovers: Leftovers = attrs.field(factory=Leftovers)

    async def sweep_forever(self) -> NoReturn:
        while True:
            await trio.sleep(LOOK_S * (1.0 - JITTER * self.random.random()))
            try:
                await self.sweep_once()
            except BusError as error:
                log.info("leftover streams cannot be looked for", extra={"error": str(error)})

    async def sweep_once(self) -> None:
        """Raises BusError."""
        for name in self.leftovers.look(await stream_names(self.bus), self.workers()):
            if await held_messages(self.bus, name) == 0 and await delete_stream(self.bus, name):
                log.info("the stream of a worker that is gone is deleted", extra={"stream": name})
