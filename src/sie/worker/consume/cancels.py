"""Gateways' word that work is not wanted is heard here (§8): what waits is acked and dropped, what comes later too.

What is with the backend already runs on.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import trio

from sie.bus.api import Message, Subscriber
from sie.domain.ids import WorkerId
from sie.domain.subjects import WORK_CANCELS, batch_cancels
from sie.wire.cancel import BatchCancel, Cancel, WorkCancel, decode_cancel
from sie.wire.converters import WireError
from sie.worker.consume.answers import Answers
from sie.worker.consume.wakeup import Wakeups
from sie.worker.core.cancels import Tombstones, is_of
from sie.worker.core.held_work import HeldWork

log = logging.getLogger(__name__)


@attrs.frozen
class Cancels:
    """`room` rings where less is held."""

    tombstones: Tombstones
    held_work: HeldWork
    answers: Answers
    room: Wakeups

    @asynccontextmanager
    async def heard(self, bus: Subscriber, worker: WorkerId) -> AsyncIterator[None]:
        async with (
            bus.subscribe(WORK_CANCELS, self.on_abandoned),
            bus.subscribe(batch_cancels(worker), self.on_withdrawn),
        ):
            yield

    def on_abandoned(self, message: Message) -> None:
        if (cancel := _read(message, WorkCancel)) is not None:
            self.tombstones.abandon(cancel, now_s=trio.current_time())
            self._drop_waiting(cancel)

    def on_withdrawn(self, message: Message) -> None:
        if (cancel := _read(message, BatchCancel)) is not None:
            self.tombstones.withdraw(cancel, now_s=trio.current_time())
            self._drop_waiting(cancel)

    def _drop_waiting(self, cancel: WorkCancel | BatchCancel) -> None:
        now_s, request = trio.current_time(), (cancel.router_id, cancel.request_id)
        for held in self.held_work.waiting():
            is_of_it = (held.work.router_id, held.work.request_id) == request
            if is_of_it and self.tombstones.covers(held.work, is_direct=held.is_direct, now_s=now_s):
                log.debug("work is dropped", extra={"item": held.work.work_item_id, "reason": "it was cancelled"})
                if held.is_lent:
                    self.answers.done(held.delivery)
                self.held_work.release(held)
                self.room.ring()


def _read(message: Message, kind: type[Cancel]) -> Cancel | None:
    try:
        cancel = decode_cancel(message.data, kind)
    except WireError as error:
        log.warning("a message is no cancel", extra={"subject": message.subject, "problem": str(error)})
        return None
    if not is_of(message.subject, cancel):
        log.warning("a cancel is not of its subject", extra={"subject": message.subject})
        return None
    return cancel
