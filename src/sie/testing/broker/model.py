"""A NATS server: connections, core messages and the JetStream subset of `sie.bus`, on a clock that is told the time.

Sans-IO: every call brings the broker up to the time of `clock`, and `next_due_s` says when it has to be called again.
`sie.testing.broker.face` puts a bus of `sie.bus` on it; `tests/bus_conformance` compares it with a real nats-server.
"""

from collections.abc import Callable, Mapping

import attrs

from sie.bus.api import NO_HEADERS, Message
from sie.bus.front import DEFAULT_MAX_PAYLOAD
from sie.bus.limits import header_bytes
from sie.testing.broker import api
from sie.testing.broker.agenda import Agenda
from sie.testing.broker.jetstream import ACK, PULL, JetStream, encode
from sie.testing.broker.links import MAX_PENDING_BYTES, Link, Subscribed
from sie.testing.broker.subjects import Index
from sie.testing.broker.times import timestamp

SHUTDOWN = "Server Shutdown"
MAX_DELIVERIES = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"


class ServerDown(Exception):
    """Nobody listens on the broker's port."""


@attrs.define
class InTurn:
    """Which of `count` members of a queue group is next? nats-server draws one; any choice is as good."""

    turn: int = 0

    def __call__(self, count: int) -> int:
        self.turn += 1
        return self.turn % count


@attrs.define(eq=False)
class Broker:
    """One server. `choose` picks a member of a queue group out of so many; `counts_first` is a race in the server."""

    clock: Callable[[], float]
    max_payload: int = DEFAULT_MAX_PAYLOAD
    max_pending_bytes: int = MAX_PENDING_BYTES
    choose: Callable[[int], int] = attrs.field(factory=InTurn)
    counts_first: bool = False
    is_up: bool = attrs.field(default=True, init=False)
    agenda: Agenda = attrs.field(factory=Agenda, init=False)
    jetstream: JetStream = attrs.field(init=False)
    links: list[Link] = attrs.field(factory=list, init=False)
    silenced: int = attrs.field(default=0, init=False)
    _index: Index[Subscribed] = attrs.field(factory=Index, init=False)
    _subscribed: int = attrs.field(default=0, init=False)
    _advised: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.agenda.now_s = self.clock()
        self.jetstream = JetStream(self, self.agenda, self.counts_first)

    def catch_up(self) -> None:
        """Do all that is due by now. A server that is down does nothing; what was due meanwhile waits for its start."""
        if self.is_up:
            self.agenda.run_until(self.clock())

    def next_due_s(self) -> float | None:
        return self.agenda.next_due_s() if self.is_up else None

    def connect(self, name: str, *, on_sent: Callable[[], None], on_closed: Callable[[], None]) -> Link:
        """Raises ServerDown."""
        if not self.is_up:
            raise ServerDown
        link = Link(name, on_sent, on_closed, self.max_pending_bytes)
        self.links.append(link)
        return link

    def disconnect(self, link: Link, reason: str = "disconnected") -> None:
        """The server forgets the subscriptions, and the client loses what it has not read, but in an orderly end."""
        if link.is_open:
            for number in tuple(link.subscriptions):
                self._forget(link, number)
            self.links.remove(link)
            link.close(reason, loses=reason != SHUTDOWN)

    def subscribe(self, link: Link, number: int, pattern: str, queue: str = "") -> None:
        self.catch_up()
        self._subscribed += 1
        subscribed = link.subscriptions[number] = Subscribed(link, self._subscribed, number, pattern, queue)
        self._index.add(pattern, subscribed)

    def unsubscribe(self, link: Link, number: int) -> None:
        self.catch_up()
        if number in link.subscriptions:
            self._forget(link, number)

    def publish(
        self, link: Link, subject: str, data: bytes, reply: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        """From a client. Too much in one message costs it the connection."""
        self.catch_up()
        if len(data) + header_bytes(headers) > self.max_payload:
            self.disconnect(link, "Maximum Payload Violation")
            return
        message = Message(subject, data, reply, headers)
        heard = self._to_subscribers(subject, message)
        if not (self._to_jetstream(message) or heard) and reply:
            self.send(reply, Message(reply, b"", headers={"Status": "503", "Nats-Subject": subject}))

    def stop(self) -> None:
        self.catch_up()
        self.jetstream.shut_down()
        self.is_up = False
        for link in tuple(self.links):
            self.disconnect(link, SHUTDOWN)
        self.jetstream.erase_memory()

    def start(self) -> None:
        if not self.is_up:
            self.is_up = True
            self.agenda.now_s = self.clock()
            self.jetstream.recover()
            api.remember(self.jetstream)
            self.catch_up()

    def restart(self) -> None:
        self.stop()
        self.start()

    def has_interest(self, subject: str) -> bool:
        return bool(self._index.find(subject))

    def send(self, to: str, message: Message) -> None:
        """From the server itself, to whoever listens to `to`."""
        self._to_subscribers(to, message)

    def advise_max_deliveries(self, stream: str, consumer: str, seq: int, deliveries: int) -> None:
        self._advised += 1
        subject = f"{MAX_DELIVERIES}.{stream}.{consumer}"
        body = {
            "type": "io.nats.jetstream.advisory.v1.max_deliver",
            "id": f"advisory{self._advised}",
            "timestamp": timestamp(self.agenda.now_s),
            "stream": stream,
            "consumer": consumer,
            "stream_seq": seq,
            "deliveries": deliveries,
        }
        message = Message(subject, encode(body))
        self._to_subscribers(subject, message)
        self._to_stream(message)

    def _to_subscribers(self, to: str, message: Message) -> bool:
        found = self._index.find(to)
        if not found:
            return False
        if len(found) == 1 and not found[0].queue:
            self._send(found[0], message)
            return True
        found.sort(key=_order)
        groups: dict[str, list[Subscribed]] = {}
        for subscribed in found:
            if subscribed.queue:
                groups.setdefault(subscribed.queue, []).append(subscribed)
            else:
                self._send(subscribed, message)
        for members in groups.values():
            self._send(members[self.choose(len(members))], message)
        return True

    def _send(self, subscribed: Subscribed, message: Message) -> None:
        link = subscribed.link
        if link.is_open and not link.send(subscribed.number, message, self.agenda.now_s):
            self.disconnect(link, "Slow Consumer")

    def _to_jetstream(self, message: Message) -> bool:
        """Whether JetStream listens to the subject."""
        subject = message.subject
        if subject.startswith(PULL):
            return self.jetstream.pull(subject, message.data, message.reply)
        if subject.startswith(api.PREFIX):
            answer = api.answer(self.jetstream, subject, message.data)
            if answer is not None and message.reply:
                self.send(message.reply, Message(message.reply, encode(answer)))
            return True
        if subject.startswith(ACK):
            return self._on_ack(message)
        return self._to_stream(message)

    def _to_stream(self, message: Message) -> bool:
        stream = self.jetstream.taker(message.subject)
        if stream is None:
            return False
        before = stream.last_seq
        answer = self.jetstream.keep(stream, message)
        if message.reply:
            self.send(message.reply, Message(message.reply, encode(answer)))
        if stream.last_seq > before:
            self.jetstream.offer(stream, stream.last_seq)
        return True

    def _on_ack(self, message: Message) -> bool:
        heard = self.jetstream.on_ack(message.subject, message.data)
        if heard == "taken" and message.reply:
            self.send(message.reply, Message(message.reply, b""))
        return heard != "by nobody"

    def _forget(self, link: Link, number: int) -> None:
        self.silenced += 1
        subscribed = link.subscriptions.pop(number)
        self._index.remove(subscribed.pattern, subscribed)


def _order(subscribed: Subscribed) -> int:
    return subscribed.order
