"""Which streams and consumers are there, and what happens to what is published into one? Sans-IO.

Holds the server's rules between several of them: no two streams share a subject, no two consumers of a work queue a
message. `sie.testing.broker.api` answers the JSON calls on top of this.
"""

import json
import re
from typing import Literal

import attrs

from sie.bus.api import Message
from sie.bus.jetstream_api import (
    CONSUMER_ALREADY_EXISTS,
    CONSUMER_NOT_FOUND,
    NS_PER_S,
    STREAM_NAME_IN_USE,
    STREAM_NOT_FOUND,
    Json,
)
from sie.testing.broker.agenda import Agenda
from sie.testing.broker.configs import ConsumerConfig, Refused, StreamConfig
from sie.testing.broker.consumers import Consumer, Outlet
from sie.testing.broker.pulls import read_pull
from sie.testing.broker.streams import Kept, Stored, Stream
from sie.testing.broker.subjects import matches, overlap

ACK = "$JS.ACK."
PULL = "$JS.API.CONSUMER.MSG.NEXT."
MAX_TAKERS = 4096  # reply subjects are used once; remembering all of them would grow without end
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DELAY = re.compile(rb'-NAK\s*\{\s*"delay"\s*:\s*(\d+)\s*\}')

Action = Literal["", "create", "update"]
AckHeard = Literal["by nobody", "ignored", "taken"]
"""What is ignored gets no answer."""


@attrs.define(eq=False)
class JetStream:
    outlet: Outlet
    agenda: Agenda
    counts_first: bool = False
    streams: dict[str, Stream] = attrs.field(factory=dict, init=False)
    consumers: dict[str, dict[str, Consumer]] = attrs.field(factory=dict, init=False)
    _takers: dict[str, Stream | None] = attrs.field(factory=dict, init=False)

    def stream(self, name: str) -> Stream:
        if name not in self.streams:
            raise Refused(404, STREAM_NOT_FOUND, "stream not found")
        return self.streams[name]

    def consumer(self, stream: str, name: str) -> Consumer:
        self.stream(stream)
        if name not in self.consumers[stream]:
            raise Refused(404, CONSUMER_NOT_FOUND, "consumer not found")
        return self.consumers[stream][name]

    def create_stream(self, config: StreamConfig) -> Stream:
        """One that exists already with just these settings is as good as a new one."""
        if (found := self.streams.get(config.name)) is not None:
            if found.config != config:
                raise Refused(400, STREAM_NAME_IN_USE, "stream name already in use with a different configuration")
            return found
        self._require_own_subjects(config)
        name = config.name
        stream = Stream(
            config,
            self.agenda.now_s,
            self.agenda,
            on_removed=lambda stored: self._on_removed(name, stored),
            on_purged=lambda: self._on_purged(name),
        )
        self.streams[config.name], self.consumers[config.name] = stream, {}
        self._takers.clear()
        return stream

    def update_stream(self, config: StreamConfig) -> Stream:
        stream = self.stream(config.name)
        if stream.config.storage != config.storage:
            raise Refused(500, 10052, "stream configuration update can not change storage type")
        if stream.config.retention != config.retention:
            raise Refused(500, 10052, "stream configuration update can not change retention policy to/from workqueue")
        self._require_own_subjects(config)
        stream.reconfigure(config)
        self._takers.clear()
        return stream

    def delete_stream(self, name: str) -> None:
        stream = self.stream(name)
        for consumer in self.consumers[name].values():
            consumer.close()
        stream.close()
        del self.streams[name], self.consumers[name]
        self._takers.clear()

    def write_consumer(self, stream: str, config: ConsumerConfig, action: Action) -> Consumer:
        """Create and update in one call, as the server has it; `action` forbids one of them."""
        home = self.stream(stream)
        found = self.consumers[stream].get(config.name)
        if found is None and action == "update":
            raise Refused(400, 10149, "consumer does not exist")
        if found is not None and action == "create" and found.config != config:
            raise Refused(400, CONSUMER_ALREADY_EXISTS, "consumer already exists")
        self._require_own_filter(home, config)
        if found is None:
            found = Consumer(config, home, self.outlet, self.agenda, self.agenda.now_s)
            self.consumers[stream][config.name] = found
        elif found.config != config:
            found.reconfigure(config)
        return found

    def delete_consumer(self, stream: str, name: str) -> None:
        self.consumer(stream, name).close()
        del self.consumers[stream][name]

    def taker(self, subject: str) -> Stream | None:
        """The stream that takes this subject; there is one at most."""
        if subject not in self._takers:
            if len(self._takers) >= MAX_TAKERS:
                self._takers.clear()
            self._takers[subject] = next(
                (stream for stream in self.streams.values() if _takes(stream.config, subject)), None
            )
        return self._takers[subject]

    def keep(self, stream: Stream, message: Message) -> Json:
        """Store it, answer as the server does, and lend it to whoever waits."""
        name = stream.config.name
        try:
            kept = stream.keep(message.subject, message.data, message.headers)
        except Refused as refused:
            return {"error": refused.error, "stream": name, "seq": 0}
        return _pub_ack(name, kept)

    def offer(self, stream: Stream, seq: int) -> None:
        """Whoever was lent what goes to make room is lent something else.

        In the server that is one goroutine, and another one counts what came. The first is as good as always quicker
        where the machine is free, so that the new one is not counted yet; `counts_first` says otherwise.
        """
        if (stored := stream.get(seq)) is not None:
            if not self.counts_first:
                self._make_room(stream)
            for consumer in self.consumers[stream.config.name].values():
                consumer.on_stored(stored)
            if self.counts_first:
                self._make_room(stream)

    def pull(self, subject: str, data: bytes, reply: str) -> bool:
        """False: there is no such consumer, and nobody listens."""
        stream, _, name = subject.removeprefix(PULL).partition(".")
        consumer = self.consumers.get(stream, {}).get(name)
        if consumer is None:
            return False
        if reply:
            consumer.pull(read_pull(data), reply)
        return True

    def on_ack(self, subject: str, word: bytes) -> AckHeard:
        """`$JS.ACK.{stream}.{consumer}.{deliveries}.{stream_seq}.{consumer_seq}.{time}.{pending}`."""
        stream, name, _, seq, consumer_seq, *_ = subject.removeprefix(ACK).split(".")
        consumer = self.consumers.get(stream, {}).get(name)
        if consumer is None:
            return "by nobody"
        return "taken" if self._judge(consumer, word, int(seq), int(consumer_seq)) else "ignored"

    def shut_down(self) -> None:
        for found in self.consumers.values():
            for consumer in found.values():
                consumer.shut_down()

    def erase_memory(self) -> None:
        for name, stream in tuple(self.streams.items()):
            if stream.config.storage == "memory":
                self.delete_stream(name)

    def recover(self) -> None:
        """What is on disk comes back after a restart, and lent messages with it."""
        for name, stream in self.streams.items():
            stream.recover()
            for consumer in self.consumers[name].values():
                consumer.recover()

    def _make_room(self, stream: Stream) -> None:
        stream.drop_exceeding()
        self.agenda.run_until(self.agenda.now_s)

    def _judge(self, consumer: Consumer, word: bytes, seq: int, consumer_seq: int) -> bool:
        """False: it ends a delivery that this consumer has not made; one of its name before it may have."""
        if word in (b"", b"+ACK", b"+OK") or word.startswith(b"+TERM"):
            if not consumer.ack(seq):
                return False
            if consumer.stream.config.is_work_queue:
                self._release(consumer, seq)
        elif word.startswith(b"-NAK"):
            delay = _DELAY.fullmatch(word)
            consumer.nak(seq, consumer_seq, int(delay[1]) / NS_PER_S if delay else 0.0)
        elif word == b"+WPI":
            consumer.progress(seq)
        return True

    def _release(self, consumer: Consumer, seq: int) -> None:
        """Acked by one consumer, a work queue's message leaves, unless another one came to want it meanwhile."""
        home = consumer.stream
        others = (other for other in self.consumers[home.config.name].values() if other is not consumer)
        stored = home.get(seq)
        if stored is not None and not any(other.needs(stored) for other in others):
            home.remove(seq)

    def _on_removed(self, stream: str, stored: Stored) -> None:
        for consumer in self.consumers[stream].values():
            consumer.on_removed(stored)

    def _on_purged(self, stream: str) -> None:
        for consumer in self.consumers[stream].values():
            consumer.on_purged()

    def _require_own_subjects(self, config: StreamConfig) -> None:
        others = [stream.config for name, stream in self.streams.items() if name != config.name]
        if any(overlap(one, other) for found in others for other in found.subjects for one in config.subjects):
            raise Refused(400, 10065, "subjects overlap with an existing stream")

    def _require_own_filter(self, stream: Stream, config: ConsumerConfig) -> None:
        if not stream.config.is_work_queue:
            return
        others = [
            found.config.filter_subject
            for name, found in self.consumers[stream.config.name].items()
            if name != config.name
        ]
        if others and not (config.filter_subject and all(others)):
            raise Refused(400, 10099, "multiple non-filtered consumers not allowed on workqueue stream")
        if any(overlap(config.filter_subject, other) for other in others):
            raise Refused(400, 10100, "filtered consumer not unique on workqueue stream")


def encode(body: Json) -> bytes:
    return _ENCODER.encode(body).encode()


def _pub_ack(stream: str, kept: Kept) -> Json:
    return {"stream": stream, "seq": kept.seq, **({"duplicate": True} if kept.duplicate else {})}


def _takes(config: StreamConfig, subject: str) -> bool:
    return any(matches(pattern, subject) for pattern in config.subjects)
