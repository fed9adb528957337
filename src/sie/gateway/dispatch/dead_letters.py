"""Work that JetStream gave up becomes a dead letter (§8, §8.2), and whoever waits for it is told at once.

Every gateway hears every advisory, and the broker keeps one letter of each message. The order is: the letter, until the
broker holds it; the caller's answer; the message out of its stream, where it would stay uncounted until its age ends.
"""

import logging
from collections import deque
from typing import NoReturn, assert_never

import attrs
import trio

from sie.bus.api import Bus, BusError, Message, NotConnected
from sie.bus.dead_letters import DeadLetterBox, Filed
from sie.bus.stored import delete_stored, read_stored
from sie.domain.subjects import ADVISORIES
from sie.gateway.core.dead_letter import Answer, Bury, Gone, judge_found, read_advisory
from sie.runtime.retrying import Backoff
from sie.wire.converters import WireError
from sie.wire.dead_letter import Advisory
from sie.wire.result import encode_result

log = logging.getLogger(__name__)

MAX_WAITING = 4096
"""Advisories, each under a kilobyte. What is heard beyond them stays in its stream, and is not answered."""
RETRY = Backoff(initial_s=0.5, cap_s=30.0)


@attrs.define
class Counts:
    """For telemetry. `refiled`: another had filed it; `gone`: nothing was there any more; `dropped`: no room here."""

    heard: int = 0
    filed: int = 0
    refiled: int = 0
    gone: int = 0
    dropped: int = 0
    unreadable: int = 0
    answered: int = 0
    deleted: int = 0


@attrs.define(eq=False)
class DeadLetters:
    """What fails goes behind all that waits, so that one bad letter holds up none."""

    bus: Bus
    box: DeadLetterBox
    counts: Counts = attrs.field(factory=Counts)
    _waiting: deque[Advisory] = attrs.field(factory=deque, init=False)
    _arrived: trio.Event = attrs.field(factory=trio.Event, init=False)
    _troubles: set[str] = attrs.field(factory=set, init=False)

    def __len__(self) -> int:
        return len(self._waiting)

    def hear(self, message: Message) -> None:
        try:
            advisory = read_advisory(message.data)
        except WireError as error:
            self.counts.unreadable += 1
            self._trouble("an advisory cannot be read", error)
            return
        if advisory is None:
            return
        self.counts.heard += 1
        if len(self._waiting) >= MAX_WAITING:
            self.counts.dropped += 1
            self._trouble("work that was given up finds no room among what waits for its dead letter")
            return
        self._waiting.append(advisory)
        self._arrived.set()

    async def keep_forever(self) -> NoReturn:
        async with self.bus.subscribe(ADVISORIES, self.hear):
            await self._file_forever()
        raise AssertionError("it files for ever")

    async def _file_forever(self) -> NoReturn:
        delays_s = RETRY.delays()
        while True:
            advisory = await self._next()
            try:
                await self._bury(advisory)
            except BusError as error:
                self._waiting.append(advisory)
                self._trouble("dead letters cannot be filed, and are tried again", error)
                await trio.sleep(next(delays_s))
                await self.bus.wait_session()
            else:
                delays_s = RETRY.delays()
                self._troubles.clear()

    async def _next(self) -> Advisory:
        while not self._waiting:
            self._arrived = trio.Event()
            await self._arrived.wait()
        return self._waiting.popleft()

    async def _bury(self, advisory: Advisory) -> None:
        """Raises BusError; then it is to be done again from the start, which does nothing twice that matters."""
        session = self.bus.session
        match judge_found(advisory, await read_stored(self.bus, advisory.stream, advisory.stream_seq)):
            case Gone():
                self.counts.gone += 1
            case Bury(letter, answer):
                filed = await self.box.file(letter)
                self._count(filed, advisory)
                if self.bus.session != session:
                    raise NotConnected("what lies there now may be another message")
                self._tell(answer)
                if filed.is_whole and await delete_stored(self.bus, advisory.stream, advisory.stream_seq):
                    self.counts.deleted += 1
            case other:
                assert_never(other)

    def _count(self, filed: Filed, advisory: Advisory) -> None:
        if not filed.is_new:
            self.counts.refiled += 1
            return
        self.counts.filed += 1
        facts = {"stream": advisory.stream, "stream_seq": advisory.stream_seq, "deliveries": advisory.deliveries}
        log.warning("work was given up and is kept as a dead letter", extra={**facts, "with_work": filed.is_whole})

    def _tell(self, answer: Answer | None) -> None:
        """A caller who was told by another gateway, too, takes the first answer."""
        if answer is not None:
            self.bus.publish_nowait(answer.subject, encode_result(answer.result))
            self.counts.answered += 1

    def _trouble(self, what: str, error: Exception | None = None) -> None:
        """Said once, until a letter is filed."""
        if what not in self._troubles:
            self._troubles.add(what)
            log.error(what, extra={"error": str(error or ""), "waiting": len(self._waiting)})
