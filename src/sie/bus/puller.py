"""How does a worker take work from a durable consumer without losing or hoarding any (§8.2)?

Raw pull requests, one open at a time, re-asked in the background by one task; arrivals go into a bounded channel, so
that cancelling a receiver loses nothing. Re-ensuring a consumer that is gone is the caller's.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NoReturn, Protocol

import trio

from sie.bus.acks import nak
from sie.bus.api import Bus, BusError, Message, NotConnected, OutboxFull
from sie.bus.background import background
from sie.bus.jetstream_api import Delivery, decode_delivery, encode_pull
from sie.bus.pulls import PullEnded, PullLedger, PullLost, judge_pull_status

log = logging.getLogger(__name__)

EXPIRES_S = 20.0
# The broker ends a pull at its expiry. One it has not ended by then and some is lost, as a message can be.
GRACE_S = 5.0
PAUSE_S = 0.25
OVERFLOW_NAK_S = 0.1


class ConsumerLost(BusError):
    """The consumer or its stream is gone: leave the puller, ensure both again, open another."""


class Puller(Protocol):
    """Both calls hand out what is buffered before they raise ConsumerLost, and raise it for ever then."""

    async def receive(self) -> Delivery:
        """Wait for one delivery. Cancelling it loses none."""
        ...

    def receive_nowait(self) -> Delivery | None:
        """One buffered delivery or None."""
        ...


@asynccontextmanager
async def open_puller(bus: Bus, *, stream: str, consumer: str, capacity: int) -> AsyncIterator[Puller]:
    """Keep asking for as long as the block, never holding more than `capacity` requested and buffered together.

    Leaving stops the broker's deliveries first, then gives back (NAK) all that nobody received.
    """
    owner = bus.correlate(_ignore)  # its number on this bus sets our subject apart from other pullers'
    replies = f"{bus.inbox}-pull.{owner.subject.rpartition('.')[2]}"
    puller = _Puller(bus, f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", replies, capacity)
    try:
        async with bus.subscribe(f"{replies}.*", puller.on_message):
            try:
                async with background(puller.ask_until_lost, puller.watch_sessions_forever):
                    yield puller
            finally:
                puller.leaving = True
    finally:
        owner.forget()
        puller.give_back()


class _Puller:
    def __init__(self, bus: Bus, subject: str, replies: str, capacity: int) -> None:
        self.leaving = False
        self._bus = bus
        self._subject = subject
        self._replies = replies
        self._ledger = PullLedger(capacity)
        # As many as the broker was asked for; the ledger refuses more.
        self._into, self._buffer = trio.open_memory_channel[Delivery](capacity)
        self._late: list[Delivery] = []  # arrived while leaving or after the loss: at most what was asked for
        self._lost = ""
        self._wake = trio.Event()
        self._ask_from = 0.0

    async def receive(self) -> Delivery:
        try:
            delivery = await self._buffer.receive()
        except trio.EndOfChannel:
            raise ConsumerLost(self._lost) from None
        self._took()
        return delivery

    def receive_nowait(self) -> Delivery | None:
        try:
            delivery = self._buffer.receive_nowait()
        except trio.WouldBlock:
            return None
        except trio.EndOfChannel:
            raise ConsumerLost(self._lost) from None
        self._took()
        return delivery

    def on_message(self, message: Message) -> None:
        delivery = decode_delivery(message)
        if delivery is None:
            self._on_status(message)
        elif self.leaving or self._lost:
            self._late.append(delivery)
        elif self._ledger.arrive():
            self._into.send_nowait(delivery)
            if not self._ledger.asked:
                self._wake.set()
        else:
            self._give_back(delivery, OVERFLOW_NAK_S)

    def _on_status(self, message: Message) -> None:
        number = message.subject.rpartition(".")[2]
        match judge_pull_status(message.status, message.headers.get("Description", "")):
            case PullLost(reason):
                self._lost = f"{self._subject}: {reason}"
                self._into.close()
            case PullEnded(at_once) if number.isdecimal():
                self._ledger.end(int(number))
                self._ask_from = trio.current_time() + (0.0 if at_once else PAUSE_S)
            case PullEnded():
                return
        self._wake.set()

    async def ask_until_lost(self) -> None:
        while not self._lost:
            now = trio.current_time()
            if self._ledger.expire(now=now, session=self._bus.session):
                log.info("pull given up", extra={"pull": self._subject, "session": self._bus.session})
            batch = self._ledger.room()
            if batch and now < self._ask_from:
                await trio.sleep_until(self._ask_from)
            elif batch:
                await self._ask(batch)
            else:
                await self._sleep_until_due()

    async def watch_sessions_forever(self) -> NoReturn:
        """A new connection knows nothing of the pull that was open on the old one."""
        session = 0
        while True:
            session = await self._bus.wait_session(newer_than=session)
            self._wake.set()

    async def _ask(self, batch: int) -> None:
        reply = f"{self._replies}.{self._ledger.next_number()}"
        session = self._bus.session
        try:
            self._bus.publish_nowait(self._subject, encode_pull(batch, EXPIRES_S), reply=reply)
        except NotConnected:
            await self._bus.wait_session()
        except OutboxFull:
            await trio.sleep(PAUSE_S)
        else:
            self._ledger.open(batch, session=session, deadline=trio.current_time() + EXPIRES_S + GRACE_S)

    async def _sleep_until_due(self) -> None:
        """Until something arrives that could change the answer, or the open pull is overdue."""
        due = self._ledger.deadline if self._ledger.asked else trio.current_time() + EXPIRES_S
        with trio.move_on_at(due):
            await self._wake.wait()
        self._wake = trio.Event()

    def _took(self) -> None:
        self._ledger.take()
        if self._ledger.room():
            self._wake.set()

    def give_back(self) -> None:
        for delivery in self._late:
            self._give_back(delivery, 0.0)
        while True:
            try:
                self._give_back(self._buffer.receive_nowait(), 0.0)
            except (trio.WouldBlock, trio.EndOfChannel):
                return

    def _give_back(self, delivery: Delivery, delay_s: float) -> None:
        with suppress(BusError):  # then the ack_wait gives it back, later
            nak(self._bus, delivery, delay_s=delay_s)


def _ignore(_: Message) -> None:
    return
