"""What does a broker answer to a history? One driver for the model and for a real nats-server, through any `Bus`.

The outcome of a step is what it was answered and what arrived meanwhile, in plain words that can be compared.
"""

import json
from collections.abc import Mapping

import attrs
import trio

from sie.bus.api import Bus, Message
from sie.bus.jetstream_api import NS_PER_S, Json, decode_delivery, encode_nak
from sie.testing.broker.histories import (
    ACK_WAIT_S,
    LAPSE_S,
    NAK_DELAY_S,
    AnswerStep,
    ConsumerStep,
    GetStep,
    LapseStep,
    PublishStep,
    PullStep,
    Step,
    StreamStep,
)

ANSWER_S = 5.0
PULL_EXPIRES_S = 0.05
PULL_S = 1.0
STEP_S = 0.01  # apart, so that deliveries of different steps fall due apart
COUNTS = ("num_pending", "num_ack_pending")  # when num_redelivered forgets what was given up, no rule here tells
STATE = ("messages", "bytes", "first_seq", "last_seq", "consumer_count")


@attrs.define(eq=False)
class Driver:
    """`prefix` sets the subjects and the stream of this history apart from others on the same server."""

    bus: Bus
    prefix: str
    acks: list[str] = attrs.field(factory=list, init=False)
    arrived: list[Message] = attrs.field(factory=list, init=False)
    told: list[str] = attrs.field(factory=list, init=False)
    _news: trio.Event = attrs.field(factory=trio.Event, init=False)

    async def run(self, history: tuple[Step, ...]) -> list[str]:
        advisories = f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{self.prefix}.*"
        async with (
            self.bus.subscribe(f"{self.prefix}_pull", self._on_arrival),
            self.bus.subscribe(advisories, self._on_advisory),
        ):
            return [await self._outcome(step) for step in history]

    async def _outcome(self, step: Step) -> str:
        self.arrived.clear()
        answered = await self._do(step)
        await trio.sleep(STEP_S)
        arrived = [self._in_words(message) for message in self.arrived]
        advised, self.told = sorted(self.told), []
        return f"{step}: {answered} {arrived} {advised}"

    async def _do(self, step: Step) -> str:
        match step:
            case PublishStep():
                return await self._publish(step)
            case PullStep():
                return await self._pull(step)
            case AnswerStep():
                return await self._answer(step)
            case StreamStep():
                return await self._stream(step)
            case ConsumerStep():
                return await self._consumer(step)
            case GetStep(seq):
                return await self._call(f"STREAM.MSG.GET.{self.prefix}", {"seq": seq})
            case LapseStep():
                await trio.sleep(LAPSE_S)
                return ""

    async def _publish(self, step: PublishStep) -> str:
        headers = {"Nats-Msg-Id": step.message_id} if step.message_id else {}
        found = await self._ask(f"{self.prefix}.{step.subject}", bytes(step.size_bytes), headers)
        return found.status or _sorted(_json(found))

    async def _pull(self, step: PullStep) -> str:
        request = {"batch": step.batch, "no_wait": step.no_wait, "expires": round(PULL_EXPIRES_S * NS_PER_S)}
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.prefix}.{step.consumer}"
        self.bus.publish_nowait(subject, json.dumps(request).encode(), reply=f"{self.prefix}_pull")
        with trio.move_on_after(PULL_S):
            while len(self.arrived) < step.batch and not any(message.status for message in self.arrived):
                self._news = trio.Event()
                await self._news.wait()
        return ""

    async def _answer(self, step: AnswerStep) -> str:
        if not self.acks:
            return "holds nothing"
        word = encode_nak(NAK_DELAY_S) if step.word == "-NAK later" else step.word.encode()
        await self._ask(self.acks[step.which % len(self.acks)], word, {})
        return ""

    async def _stream(self, step: StreamStep) -> str:
        if step.call not in ("CREATE", "UPDATE"):
            return await self._call(f"STREAM.{step.call}.{self.prefix}", None)
        config = {
            "name": self.prefix,
            "subjects": [f"{self.prefix}.a.*", f"{self.prefix}.b.*"],
            "retention": step.retention,
            "storage": step.storage,
            "max_msgs": step.max_msgs,
            "discard": step.discard,
        }
        return await self._call(f"STREAM.{step.call}.{self.prefix}", config)

    async def _consumer(self, step: ConsumerStep) -> str:
        if step.call not in ("create", "update"):
            return await self._call(f"CONSUMER.{step.call}.{self.prefix}.{step.consumer}", None)
        config = {
            "name": step.consumer,
            "durable_name": step.consumer,
            "filter_subject": f"{self.prefix}.{step.filter_subject}",
            "ack_policy": "explicit",
            "ack_wait": round(ACK_WAIT_S * NS_PER_S),
            "max_deliver": step.max_deliver,
            "max_ack_pending": step.max_ack_pending,
        }
        call = f"CONSUMER.CREATE.{self.prefix}.{step.consumer}.{self.prefix}.{step.filter_subject}"
        return await self._call(call, {"stream_name": self.prefix, "config": config, "action": step.call})

    async def _call(self, call: str, body: Json | None) -> str:
        data = b"" if body is None else json.dumps(body).encode()
        return _judge(_json(await self._ask(f"$JS.API.{call}", data, {})))

    async def _ask(self, subject: str, data: bytes, headers: Mapping[str, str]) -> Message:
        answers = list[Message]()
        answered = trio.Event()

        def on_reply(message: Message) -> None:
            answers.append(message)
            answered.set()

        correlation = self.bus.correlate(on_reply)
        self.bus.publish_nowait(subject, data, reply=correlation.subject, headers=headers)
        with trio.move_on_after(ANSWER_S):
            await answered.wait()
        correlation.forget()
        return answers[0] if answers else Message(subject, b'{"answer":"none"}')

    def _on_arrival(self, message: Message) -> None:
        self.arrived.append(message)
        if decode_delivery(message) is not None:
            self.acks.append(message.reply)
        self._news.set()

    def _on_advisory(self, message: Message) -> None:
        found = _json(message)
        self.told.append(f"{found['consumer']} gave up {found['stream_seq']} after {found['deliveries']}")

    def _in_words(self, message: Message) -> str:
        delivery = decode_delivery(message)
        if delivery is None:
            left = message.headers.get("Nats-Pending-Messages", "")
            words = "" if message.status == "503" else message.headers.get("Description", "")
            return f"{message.status} {words} {left}"
        subject = message.subject.removeprefix(self.prefix)
        return (
            f"{subject} {delivery.stream_seq} try {delivery.deliveries} before {delivery.pending} {len(message.data)}"
        )


async def run_history(bus: Bus, prefix: str, history: tuple[Step, ...]) -> list[str]:
    await bus.wait_session()
    return await Driver(bus, prefix).run(history)


def _json(message: Message) -> Json:
    if not message.data:
        return {}
    found = json.loads(message.data)
    return found if isinstance(found, dict) else {}


def _judge(found: Json) -> str:
    """What of an answer has to be alike: errors, counts, and the settings that were asked for."""
    for key in ("error", "message"):
        inner = found.get(key)
        if isinstance(inner, dict):
            return _sorted({name: value for name, value in inner.items() if name != "time"}).replace("\\u003e", ">")
    state = found.get("state")
    counts = {key: state.get(key) for key in STATE} if isinstance(state, dict) else {}
    return _sorted({**counts, **{key: found[key] for key in (*COUNTS, "purged", "success", "answer") if key in found}})


def _sorted(found: Json) -> str:
    return json.dumps(found, sort_keys=True)
