"""One unbroken connection of a bus to the broker double: what `sie.bus.front` asks of a connection.

Two tasks carry it, one per direction. A session ends when the broker or the client closes the link, and nothing of it
reaches the next one.
"""

from collections import deque
from math import inf

import attrs
import trio

from sie.bus.front import BusFront, Subscription
from sie.bus.outbox import Command, Outbox, Publish, Subscribe
from sie.testing.broker.links import Link, Sent
from sie.testing.broker.model import Broker
from sie.testing.broker.network import Network
from sie.testing.broker.wakes import Wake

SILENCE_S = 15.0  # the real bus pings every 5 s and gives up at the third ping


@attrs.frozen
class InFlight:
    command: Command
    due_s: float


@attrs.define(eq=False)
class Session:
    """`run` returns when the session is over; `number` is 0 until it is open to callers."""

    broker: Broker
    front: BusFront
    network: Network
    name: str
    outbox_max_bytes: int
    number: int = attrs.field(default=0, init=False)
    outbox: Outbox = attrs.field(init=False)
    link: Link = attrs.field(init=False)
    _made: dict[int, Subscription] = attrs.field(factory=dict, init=False)
    _silent_since_s: float | None = attrs.field(default=None, init=False)
    _flight: deque[InFlight] = attrs.field(factory=deque, init=False)
    _out: Wake = attrs.field(factory=Wake, init=False)
    _in: Wake = attrs.field(factory=Wake, init=False)
    _drained: list[trio.Event] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.outbox = Outbox(self.outbox_max_bytes, self._out.set)
        self.link = self.broker.connect(self.name, on_sent=self._in.set, on_closed=self._wake)

    @property
    def is_connected(self) -> bool:
        return self.link.is_open

    @property
    def max_payload(self) -> int:
        return self.broker.max_payload

    async def run(self, number: int) -> None:
        self.network.on_change = self._wake
        for subscription in tuple(self.front.subscriptions):
            self._make(subscription)
        self.number = number
        self.front.open_connection(self, frozenset(self._made))
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._carry_out, nursery.cancel_scope)
                nursery.start_soon(self._carry_in)
            if not self.network.blocked:
                self._deliver_landed()
        finally:
            self.front.close_connection()
            self.broker.disconnect(self.link, "closed by the client")
            self._tell_drained()

    async def stop(self, number: int) -> None:
        """The way back is as long as what was sent before; then all of that has been delivered."""
        if not self.link.is_open:
            return
        self.broker.unsubscribe(self.link, number)
        drained = trio.Event()
        self._drained.append(drained)
        self._in.set()
        await drained.wait()

    def _wake(self) -> None:
        self._out.set()
        self._in.set()

    async def _carry_out(self, over: trio.CancelScope) -> None:
        """Client to broker, until the link is closed or the outbox has been closed and emptied."""
        while self.link.is_open and not (self.outbox.closed and not len(self.outbox) and not self._flight):
            if not self.network.blocked:
                self._send_off()
            await self._out.wait_until(self._next_out_s())
            self._give_up_if_silent()
        over.cancel()

    def _next_out_s(self) -> float:
        if self.network.blocked:
            self._silent_since_s = trio.current_time() if self._silent_since_s is None else self._silent_since_s
            return self._silent_since_s + SILENCE_S
        self._silent_since_s = None
        return self._flight[0].due_s if self._flight else inf

    def _give_up_if_silent(self) -> None:
        since_s = self._silent_since_s
        if self.network.blocked and since_s is not None and since_s + SILENCE_S <= trio.current_time():
            self.broker.disconnect(self.link, "Stale Connection")

    def _send_off(self) -> None:
        if self.network.latency_s or self._flight:
            self._take_off()
            self._land()
            return
        while self.link.is_open and (command := self.outbox.take()) is not None:
            self._do(command)

    def _take_off(self) -> None:
        due_s = trio.current_time() + self.network.latency_s
        while (command := self.outbox.take()) is not None:
            self._flight.append(InFlight(command, due_s))

    def _land(self) -> None:
        now_s = trio.current_time()
        while self._flight and self._flight[0].due_s <= now_s and self.link.is_open:
            self._do(self._flight.popleft().command)

    def _do(self, command: Command) -> None:
        match command:
            case Publish(subject, data, reply, headers):
                if not self.network.loses_sent(subject):
                    self.broker.publish(self.link, subject, data, reply, headers)
            case Subscribe(number):
                self._make(number)

    def _make(self, number: int) -> None:
        subscription = self.front.subscriptions.get(number)
        if subscription is not None:
            self._made[number] = subscription
            self.broker.subscribe(self.link, number, subscription.pattern, subscription.queue)

    async def _carry_in(self) -> None:
        """Broker to client, until cancelled."""
        while True:
            if not self.network.blocked:
                self._deliver_landed()
            due_s = inf
            if self.link.sent and not self.network.blocked:
                due_s = self._due_s(self.link.sent[0])
            await self._in.wait_until(due_s)

    def _deliver_landed(self) -> None:
        now_s = trio.current_time()
        while self.link.sent and self._due_s(self.link.sent[0]) <= now_s:
            self._deliver(self.link.read())
        if not self.link.sent:
            self._tell_drained()

    def _tell_drained(self) -> None:
        while self._drained:
            self._drained.pop().set()

    def _deliver(self, sent: Sent) -> None:
        subscription = self._made[sent.number]
        if not self.network.loses_received(sent.message):
            self.front.deliver(subscription, sent.message)

    def _due_s(self, sent: Sent) -> float:
        return sent.sent_s + self.network.latency_s
