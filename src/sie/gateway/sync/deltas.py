"""Hearing of writes as they happen (§4.3): each delta is read, judged against what is held, and taken or not.

The bus hands them over between two steps of the loop; one task applies them, in order, each under the turn that a
catching up holds too. The gateway only listens on these subjects.
"""

import logging
from collections import deque
from functools import partial
from typing import NoReturn, assert_never

import attrs
import trio

from sie.bus.api import Message
from sie.domain.convergence import Accepted, Delta, Ignored, Refused, Trust, judge_delta
from sie.domain.model import Model
from sie.gateway.sync.bootstrap import Syncing
from sie.wire.converters import WireError
from sie.wire.documents import parse_model
from sie.wire.notification import ConfigNotification, decode_notification

log = logging.getLogger(__name__)

WAITING = 1024
"""Deltas that may wait while a snapshot is built; one more is dropped, and the authority is asked instead."""


@attrs.define(eq=False)
class Deltas:
    syncing: Syncing
    trust: Trust
    _waiting: deque[bytes] = attrs.field(factory=deque, init=False)
    _arrived: trio.Event = attrs.field(factory=trio.Event, init=False)
    last_read: "Read | None" = attrs.field(default=None, init=False)

    def receive(self, message: Message) -> None:
        if len(self._waiting) < WAITING:
            self._waiting.append(message.data)
            self._arrived.set()
        else:
            self._count("dropped")
            self.syncing.poll_soon()

    async def apply_forever(self) -> NoReturn:
        while True:
            while not self._waiting:
                self._arrived = trio.Event()
                await self._arrived.wait()
            await self.apply(self._waiting.popleft())

    async def apply(self, data: bytes) -> None:
        """One that cannot be read moves nothing: the poll catches up with it."""
        try:
            notification = decode_notification(data)
            if not self.trust.trusts(notification.producer):  # before its document is looked at (§4.3)
                self._count("untrusted")
                log.warning("a delta of a stranger is dropped", extra={"producer": notification.producer})
                return
            delta = self._delta_of(notification)
        except WireError as error:
            self._count("unreadable")
            log.error("a delta cannot be read", extra={"error": str(error)})
            return
        await self._judge(delta)

    async def _judge(self, delta: Delta) -> None:
        async with self.syncing.turn:
            judge = partial(judge_delta, self.syncing.replica.standing, delta, self.trust)
            decision = await self.syncing.run_in_thread(judge)
            if isinstance(decision, Accepted):
                self.syncing.replica.take(decision)
        self._count(type(decision).__name__.lower())
        match decision:
            case Accepted(doubt=None) | Ignored():
                return
            case Accepted(doubt=reason) | Refused(reason):
                log.warning("a delta asks for a poll", extra={"reason": reason, "epoch": delta.epoch})
                self.syncing.poll_soon()
            case other:
                assert_never(other)

    def _delta_of(self, notification: ConfigNotification) -> Delta:
        """A write is told once for each of its bundles: its document is read for the first of them. Raises WireError
        where it is none.
        """
        text = notification.model_config
        if self.last_read is None or self.last_read.text != text:
            self.last_read = Read(text, parse_model(text) if text.strip() else None)
        return delta_of(notification, self.last_read.model)

    def _count(self, outcome: str) -> None:
        self.syncing.replica.deltas[outcome] += 1


@attrs.frozen
class Read:
    """A document, and what it says."""

    text: str
    model: Model | None


def delta_of(notification: ConfigNotification, model: Model | None) -> Delta:
    return Delta(
        notification.producer,
        notification.epoch,
        model,
        notification.bundle_id,
        notification.bundle_config_hash or None,
    )
