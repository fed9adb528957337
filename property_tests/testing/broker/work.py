"""One work queue with one consumer on the broker model, and a client that keeps books of all it was promised.

Told without Trio: the clock is a number, and what the broker sends is read at once.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.bus.api import Message
from sie.bus.jetstream_api import NS_PER_S, Delivery, Json, decode_delivery
from sie.testing.broker.consumers import Consumer
from sie.testing.broker.links import Link
from sie.testing.broker.model import Broker

ACK_WAIT_S = 1.0
ANSWERS, ADVISORIES, FIRST_PULL = 1, 2, 3
"""Numbers of subscriptions: every pull has one of its own, so that it is known what came to it."""
STREAM = {"name": "W", "subjects": ["w.*"], "retention": "workqueue", "storage": "memory"}


@attrs.frozen
class Put:
    message_id: str


@attrs.frozen
class Ask:
    batch: int
    expires_s: float


@attrs.frozen
class Answer:
    word: Literal["+ACK", "-NAK", "+TERM", "+WPI"]
    which: int


@attrs.frozen
class Pass:
    for_s: float


Step: TypeAlias = Put | Ask | Answer | Pass
puts = st.builds(Put, st.sampled_from(("", "", "i", "j")))
asks = st.builds(Ask, st.integers(1, 4), st.sampled_from((0.5, 3.0)))
answers = st.builds(Answer, st.sampled_from(("+ACK", "-NAK", "+TERM", "+WPI")), st.integers(0, 9))
passes = st.builds(Pass, st.sampled_from((0.1, 0.6, 1.1)))
scripts: SearchStrategy[list[Step]] = st.lists(st.one_of(puts, asks, answers, passes), max_size=60)


@attrs.define
class Clock:
    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@attrs.define(eq=False)
class Work:
    """`stored` is what the broker said it keeps, `ended` what it was told to forget, `given_up` what it gave up."""

    max_deliver: int
    max_ack_pending: int
    clock: Clock = attrs.field(factory=Clock, init=False)
    broker: Broker = attrs.field(init=False)
    link: Link = attrs.field(init=False)
    stored: list[int] = attrs.field(factory=list, init=False)
    ids: dict[str, int] = attrs.field(factory=dict, init=False)
    held: list[Delivery] = attrs.field(factory=list, init=False)
    ended: set[int] = attrs.field(factory=set, init=False)
    given_up: set[int] = attrs.field(factory=set, init=False)
    tries: Counter[int] = attrs.field(factory=Counter, init=False)
    asked: list[int] = attrs.field(factory=list, init=False)
    got: Counter[int] = attrs.field(factory=Counter, init=False)

    def __attrs_post_init__(self) -> None:
        self.broker = Broker(self.clock)
        self.link = self.broker.connect("w", on_sent=lambda: None, on_closed=lambda: None)
        self.broker.subscribe(self.link, ANSWERS, "r.*")
        self.broker.subscribe(self.link, ADVISORIES, "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.W.c")
        settings = {
            "name": "c",
            "durable_name": "c",
            "ack_policy": "explicit",
            "ack_wait": round(ACK_WAIT_S * NS_PER_S),
        }
        bounds = {"max_deliver": self.max_deliver, "max_ack_pending": self.max_ack_pending}
        self.call("STREAM.CREATE.W", STREAM)
        self.call("CONSUMER.CREATE.W.c", {"stream_name": "W", "config": {**settings, **bounds}})

    @property
    def consumer(self) -> Consumer:
        return self.broker.jetstream.consumer("W", "c")

    @property
    def kept(self) -> list[int]:
        return [stored.seq for stored in self.broker.jetstream.stream("W")]

    def call(self, call: str, body: Json) -> None:
        self.broker.publish(self.link, f"$JS.API.{call}", json.dumps(body).encode(), "r.call")
        assert "error" not in json.loads(self.link.read().message.data)

    def take(self, step: Step) -> list[Delivery]:
        """The deliveries that came of it."""
        match step:
            case Put(message_id):
                headers = {"Nats-Msg-Id": message_id} if message_id else {}
                return self.put(message_id, headers)
            case Ask(batch, expires_s):
                reply = f"r.pull.{len(self.asked)}"
                self.broker.subscribe(self.link, FIRST_PULL + len(self.asked), reply)
                self.asked.append(batch)
                body = {"batch": batch, "expires": round(expires_s * NS_PER_S)}
                self.broker.publish(self.link, "$JS.API.CONSUMER.MSG.NEXT.W.c", json.dumps(body).encode(), reply)
            case Answer(word, which):
                if self.held:
                    self.answer(word, self.held[which % len(self.held)])
            case Pass(for_s):
                self.clock.now_s += for_s
                self.broker.catch_up()
        return list(self.arrivals())

    def put(self, message_id: str, headers: Mapping[str, str]) -> list[Delivery]:
        self.broker.publish(self.link, "w.a", b"", "r.ack", headers)
        ack = json.loads(self.link.read().message.data)
        if message_id:
            assert bool(ack.get("duplicate")) == (message_id in self.ids)
            assert self.ids.setdefault(message_id, ack["seq"]) == ack["seq"]
        if not ack.get("duplicate"):
            self.stored.append(ack["seq"])
        return list(self.arrivals())

    def answer(self, word: str, delivery: Delivery) -> None:
        if word in ("+ACK", "+TERM"):
            self.ended.add(delivery.stream_seq)
        self.broker.publish(self.link, delivery.ack_subject, word.encode())

    def arrivals(self) -> Iterator[Delivery]:
        while self.link.sent:
            sent = self.link.read()
            if sent.number == ADVISORIES:
                self.given_up.add(json.loads(sent.message.data)["stream_seq"])
            elif (delivery := self.delivered(sent.message)) is not None:
                self.got[sent.number - FIRST_PULL] += 1
                yield delivery

    def delivered(self, message: Message) -> Delivery | None:
        delivery = decode_delivery(message)
        if delivery is not None:
            self.held.append(delivery)
            self.tries[delivery.stream_seq] += 1
        return delivery

    def drain(self) -> None:
        """Ack all that comes, until nothing more does."""
        for _ in range(2):
            self.take(Pass(5 * ACK_WAIT_S))
            for _ in range(len(self.stored) + 1):
                for delivery in self.take(Ask(1, 0.5)):
                    self.answer("+ACK", delivery)
