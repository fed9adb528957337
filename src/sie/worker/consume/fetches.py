"""Inputs that were sent beside their work (§16.2) are fetched a few at a time, each before its work is judged again.

Until then its lease is kept nowhere: a fetch is short beside ack_wait. What has no input yet at the end goes back.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NoReturn

import attrs

from sie.bus.jetstream import Delivery
from sie.runtime.service import Forever
from sie.wire.work import WorkItem
from sie.worker.consume.answers import Answers
from sie.worker.consume.payloads import Fetched, Payloads
from sie.worker.consume.wakeup import Wakeup
from sie.worker.core.accept import Nak, Refuse

AT_ONCE = 4
MOST = 16
"""Of one queue, those under way among them; pulling rests while there are so many."""
Take = Callable[[Delivery, WorkItem, Fetched | Refuse | Nak], None]


@attrs.define(eq=False)
class Fetches:
    payloads: Payloads
    answers: Answers
    _waiting: deque[tuple[Delivery, WorkItem]] = attrs.field(factory=deque, init=False)
    _under_way: int = attrs.field(default=0, init=False)
    _wakes: tuple[Wakeup, ...] = attrs.field(factory=lambda: tuple(Wakeup() for _ in range(AT_ONCE)), init=False)

    @property
    def is_full(self) -> bool:
        return len(self._waiting) + self._under_way >= MOST

    def add(self, delivery: Delivery, work: WorkItem) -> None:
        self._waiting.append((delivery, work))
        for wake in self._wakes:
            wake.ring()

    def tasks(self, take: Take) -> tuple[Forever, ...]:
        """`take` gets each delivery with what was found of its input, or why there is none."""
        return tuple(partial(self._fetch_forever, wake, take) for wake in self._wakes)

    def give_back(self) -> None:
        """What waits still, when the tasks have ended."""
        while self._waiting:
            self.answers.give_back(self._waiting.popleft()[0])

    async def _fetch_forever(self, wake: Wakeup, take: Take) -> NoReturn:
        while True:
            while self._waiting:
                delivery, work = self._waiting.popleft()
                take(delivery, work, await self._fetch(delivery, work))
            await wake.wait()

    async def _fetch(self, delivery: Delivery, work: WorkItem) -> Fetched | Refuse | Nak:
        self._under_way += 1
        try:
            return await self.payloads.fetch(work)
        except BaseException:  # cancelled at the end above all: a lease that nobody keeps goes back at once
            self.answers.give_back(delivery)
            raise
        finally:
            self._under_way -= 1
