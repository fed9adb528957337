"""A process's bus with an ear on it and a hand in it: what it sends and is sent is told, and some of it is lost.

Losing a message here is what a broker does that drops it; nobody is told. A process that was killed sends nothing more.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import attrs

from sie.bus.api import NO_HEADERS, Bus, BusError, Correlation, Handler, Message, NotConnected, OpenBus

OnMessage = Callable[[Message], None]
Detour = Callable[[Message, Handler], None]
"""Another way for one message to its handler: later, twice, after the next."""


def ignore(_: Message) -> None:
    return


@attrs.define(eq=False)
class Tap:
    """`losing` counts how many of the next messages with a subject's prefix are lost, sent or received.

    `detours` are for the next messages received with a subject, one each; `handlers` those that listen to a subject.

    `on_refused` is told what the bus did not take, `on_late` what the process sends after its end, `on_lost` what is
    lost here. `correlations` are open now.
    """

    on_sent: OnMessage = ignore
    on_received: OnMessage = ignore
    on_refused: OnMessage = ignore
    on_late: OnMessage = ignore
    on_lost: OnMessage = ignore
    losing: dict[str, int] = attrs.field(factory=dict)
    detours: dict[str, deque[Detour]] = attrs.field(factory=dict)
    handlers: dict[str, Handler] = attrs.field(factory=dict)
    is_dead: bool = False
    is_over: bool = False
    correlations: int = 0

    def lose(self, prefix: str, count: int) -> None:
        self.losing[prefix] = self.losing.get(prefix, 0) + count

    def turn(self, subject: str, detours: Iterable[Detour]) -> None:
        self.detours.setdefault(subject, deque()).extend(detours)

    def inject(self, message: Message) -> None:
        """As if somebody had sent it. Nothing happens where nobody listens."""
        if (handler := self.handlers.get(message.subject)) is not None:
            handler(message)

    def heal(self) -> None:
        self.losing.clear()
        self.detours.clear()

    def takes(self, message: Message) -> bool:
        """False: this message is lost."""
        for prefix, count in self.losing.items():
            if count and message.subject.startswith(prefix):
                self.losing[prefix] -= 1
                self.on_lost(message)
                return False
        return True


@attrs.frozen
class TappedBus:
    bus: Bus
    tap: Tap

    @property
    def max_payload(self) -> int:
        return self.bus.max_payload

    @property
    def inbox(self) -> str:
        return self.bus.inbox

    @property
    def session(self) -> int:
        return 0 if self.tap.is_dead else self.bus.session

    def publish_nowait(
        self, subject: str, data: bytes, *, reply: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        message = Message(subject, data, reply, headers)
        if self.tap.is_over:
            self.tap.on_late(message)
        if self.tap.is_dead:
            raise NotConnected("the process was killed")
        try:
            self._publish(message)
        except BusError:
            self.tap.on_refused(message)
            raise
        self.tap.on_sent(message)

    def _publish(self, message: Message) -> None:
        if not self.session:
            raise NotConnected("no connection to the broker")
        if self.tap.takes(message):
            self.bus.publish_nowait(message.subject, message.data, reply=message.reply, headers=message.headers)

    @asynccontextmanager
    async def subscribe(self, subject: str, handler: Handler, *, queue: str = "") -> AsyncIterator[None]:
        heard = self._heard(handler)
        self.tap.handlers[subject] = self._delivered(handler)
        async with self.bus.subscribe(subject, heard, queue=queue):
            yield

    def correlate(self, on_reply: Handler) -> Correlation:
        self.tap.correlations += 1
        return TappedCorrelation(self.bus.correlate(self._heard(on_reply)), self.tap)

    def on_inbox(self, handler: Handler) -> None:
        self.bus.on_inbox(self._heard(handler))

    async def wait_session(self, *, newer_than: int = 0) -> int:
        return await self.bus.wait_session(newer_than=newer_than)

    def _heard(self, handler: Handler) -> Handler:
        delivered, detours = self._delivered(handler), self.tap.detours

        def heard(message: Message) -> None:
            if self.tap.is_dead or not self.tap.takes(message):
                return
            if detours and (waiting := detours.get(message.subject)):
                waiting.popleft()(message, delivered)
            else:
                delivered(message)

        return heard

    def _delivered(self, handler: Handler) -> Handler:
        def delivered(message: Message) -> None:
            if not (self.tap.is_dead or self.tap.is_over):
                self.tap.on_received(message)
                handler(message)

        return delivered


@attrs.define(eq=False)
class TappedCorrelation:
    correlation: Correlation
    tap: Tap
    is_open: bool = True

    @property
    def subject(self) -> str:
        return self.correlation.subject

    def forget(self) -> None:
        self.tap.correlations -= self.is_open
        self.is_open = False
        self.correlation.forget()


def tapped(open_bus: OpenBus, tap: Tap) -> OpenBus:
    def open_tapped(url: str, *, inbox: str, name: str) -> AbstractAsyncContextManager[Bus]:
        return _open(open_bus, tap, url, inbox=inbox, name=name)

    return open_tapped


@asynccontextmanager
async def _open(open_bus: OpenBus, tap: Tap, url: str, *, inbox: str, name: str) -> AsyncIterator[Bus]:
    async with open_bus(url, inbox=inbox, name=name) as bus:
        yield TappedBus(bus, tap)
