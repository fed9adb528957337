"""Inputs that took their backend with them too often are kept as dead letters (§8, decisions) before they are acked.

A letter that cannot be filed does not bring the input back: its next run would cost more children, and what else is
with them. The caller is told of the error all the same.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

import attrs
import trio

from sie.bus.api import BusError
from sie.bus.dead_letters import Filed
from sie.bus.jetstream import ConsumerSpec, Delivery
from sie.domain.ids import WorkerId
from sie.wire.dead_letter import DeadLetter
from sie.worker.core.dead_letter import letter_of
from sie.worker.core.flights import GivenUp
from sie.worker.core.held_work import Held

log = logging.getLogger(__name__)

FILING_S = 6.0
"""For one batch. Its callers wait meanwhile; the broker answers in milliseconds."""


class Box(Protocol):
    """Raises BusError."""

    async def file(self, letter: DeadLetter) -> Filed: ...


@attrs.frozen
class Burial:
    box: Box
    consumer_of: Callable[[Delivery], ConsumerSpec]
    worker: WorkerId
    unix_s: Callable[[], float]

    async def file(self, batch: Iterable[Held], given_up: GivenUp) -> None:
        """What is not lent to us any more comes again, and is somebody else's to file."""
        letters = [
            letter_of(held.delivery, self.consumer_of(held.delivery), self.worker, given_up, now_s=self.unix_s())
            for held in batch
            if held.is_lent
        ]
        filed = 0
        try:
            with trio.fail_after(FILING_S):
                for letter in letters:
                    await self.box.file(letter)
                    filed += 1
        except (BusError, trio.TooSlowError) as error:
            facts = {"lost": len(letters) - filed, "error": str(error) or type(error).__name__}
            log.error("inputs were given up, and cannot be kept as dead letters", extra=facts)
        if filed:
            log.warning("inputs were given up and are kept as dead letters", extra={"count": filed})
