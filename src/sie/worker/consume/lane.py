"""The worker's part in its queues, from the first pull to the orderly end (house: stop is an event, not a cancel).

At the stop nothing more is pulled, what waits goes back at once, what runs is finished within a bound, and what is then
still held goes back too (expectation 19). Leases are renewed to the end. What was sent here by name goes to the lane.
"""

from functools import partial
from itertools import chain
from typing import NoReturn

import attrs
import trio

from sie.bus.api import Sessions
from sie.runtime.service import running
from sie.worker.consume.answers import Answers
from sie.worker.consume.dispatcher import Dispatcher
from sie.worker.consume.intake import Intake
from sie.worker.consume.leaving import Leaving
from sie.worker.core.held_work import Held, HeldWork

RENEW_S = 5.0
OWED_NAK_S = 5.0
"""Work whose result found no connection is done again, when the gateways too have had time to come back."""


@attrs.frozen
class LaneWork:
    """`grace_s` is for what runs at the stop."""

    sessions: Sessions
    held_work: HeldWork
    answers: Answers
    intakes: tuple[Intake, ...]
    dispatcher: Dispatcher
    leaving: Leaving
    grace_s: float

    async def run_until(self, stop: trio.Event) -> None:
        async with running(self._renew_forever), trio.open_nursery() as handing_over:
            async with trio.open_nursery() as batches:
                pulls = chain.from_iterable(intake.tasks for intake in self.intakes)
                async with running(*pulls, partial(self.dispatcher.work_forever, batches)):
                    await stop.wait()
                handing_over.start_soon(self.leaving.hand_over_forever)
                for intake in self.intakes:
                    intake.fetches.give_back()
                self._give_back(self.held_work.waiting())
                batches.cancel_scope.deadline = trio.current_time() + self.grace_s
            self._give_back(self.held_work.held())
            is_empty = await self.leaving.until_empty()
            handing_over.cancel_scope.cancel()
        if is_empty:
            await self.leaving.delete()

    async def _renew_forever(self) -> NoReturn:
        while True:
            await trio.sleep(RENEW_S)
            if self.sessions.session:
                self._give_back(self.held_work.take_owed(), delay_s=OWED_NAK_S)
                self.dispatcher.room.ring()
            for delivery in self.held_work.renew(now_s=trio.current_time()):
                self.answers.renew(delivery)

    def _give_back(self, deliveries: tuple[Held, ...], *, delay_s: float = 0.0) -> None:
        for held in deliveries:
            self.held_work.release(held)
            if held.is_lent:
                self.answers.give_back(held.delivery, delay_s=delay_s)
