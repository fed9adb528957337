"""What does a broker answer to a history? One driver for the model and for a real nats-server, through any `Side`.

The outcome of a step is what it was answered and what arrived meanwhile, in plain words that can be compared. What
comes of itself, to a pull that stays or to a listener, is told with the next pause: until then it may take its time.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack

import attrs
import trio

from sie.bus.api import Bus, Message
from sie.bus.jetstream_api import NS_PER_S, Json, decode_delivery, encode_nak
from sie.testing.broker.histories import ACK_WAIT_S, LAPSE_S, LATER_S, MAX_AGE_S, NEVER_S
from sie.testing.broker.sides import Side
from sie.testing.broker.steps import (
    AnswerStep,
    ConsumerStep,
    DeleteStep,
    GetStep,
    LapseStep,
    ListenStep,
    OversizeStep,
    PublishStep,
    PullStep,
    ReconnectStep,
    RestartStep,
    SlowStep,
    Step,
    StreamStep,
)
from sie.testing.broker.words import (
    advisory_in_words,
    answer_in_words,
    arrival_in_words,
    by_consumer,
    call_in_words,
    in_any_order,
)

ANSWER_S = 5.0
PULL_EXPIRES_S = 0.05
PULL_S = 1.0
STEP_S = 0.01  # apart, so that deliveries of different steps fall due apart
SESSION_S = 20.0
DELAYS_S: Mapping[str, float] = {"-NAK later": LATER_S, "-NAK never": NEVER_S}
HEARD = b'{"heard":true}'


async def run_history(side: Side, prefix: str, history: Sequence[Step]) -> list[str]:
    """`prefix` sets the subjects and the stream of this history apart from others on the same server.

    Where the history lets the client reconnect, its bus ends, time passes, and another bus begins.
    """
    told: list[str] = []
    acks: list[str] = []
    for part in _parts(history):
        async with side.open_bus(prefix) as bus, AsyncExitStack() as held:
            await bus.wait_session()
            told += await Driver(side, bus, prefix, acks, held).run(part)
        if isinstance(part[-1], ReconnectStep):
            await trio.sleep(LAPSE_S)
    return told


def _parts(history: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """Cut after each ReconnectStep."""
    begin = 0
    for number, step in enumerate(history, 1):
        if isinstance(step, ReconnectStep):
            yield history[begin:number]
            begin = number
    if begin < len(history):
        yield history[begin:]


@attrs.define(eq=False)
class Driver:
    """One connection's part of a history. `held` is what it holds open besides, until the part is over."""

    side: Side
    bus: Bus
    prefix: str
    acks: list[str]
    held: AsyncExitStack
    pulled: list[Message] = attrs.field(factory=list, init=False)
    stayed: list[Message] = attrs.field(factory=list, init=False)
    heard: dict[tuple[str, str], list[str]] = attrs.field(factory=dict, init=False)
    told: list[str] = attrs.field(factory=list, init=False)
    _listening: dict[tuple[str, str], AsyncExitStack] = attrs.field(factory=dict, init=False)
    _stays: AsyncExitStack = attrs.field(factory=AsyncExitStack, init=False)
    _pauses: int = attrs.field(default=0, init=False)
    _news: trio.Event = attrs.field(factory=trio.Event, init=False)

    async def run(self, history: Sequence[Step]) -> list[str]:
        advisories = f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{self.prefix}.*"
        async with (
            self.bus.subscribe(f"{self.prefix}_pull", self._on_pulled),
            self.bus.subscribe(advisories, lambda message: self.told.append(advisory_in_words(message))),
        ):
            await self._open_stays()
            try:
                return [await self._outcome(step) for step in history]
            finally:
                await self._stays.aclose()

    async def _outcome(self, step: Step) -> str:
        self.pulled.clear()
        answered = await self._do(step)
        await trio.sleep(STEP_S)
        arrived = [arrival_in_words(message, self.prefix) for message in self.pulled]
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
            case GetStep() | DeleteStep():
                return await self._one(step)
            case ListenStep(pattern, queue):
                return await self._listen(pattern, queue)
            case OversizeStep() | SlowStep():
                return str(await self._harm(step))
            case LapseStep() | ReconnectStep() | RestartStep():
                return await self._let_pass(step)

    async def _one(self, step: GetStep | DeleteStep) -> str:
        match step:
            case GetStep(seq):
                return await self._call(f"STREAM.MSG.GET.{self.prefix}", {"seq": seq})
            case DeleteStep(seq):
                return await self._call(f"STREAM.MSG.DELETE.{self.prefix}", {"seq": seq, "no_erase": True})

    async def _harm(self, step: OversizeStep | SlowStep) -> bool:
        """Whether the connection it was done to lived."""
        match step:
            case OversizeStep(over_bytes):
                return await self.side.send_oversized(f"{self.prefix}_much", over_bytes)
            case SlowStep(chunks):
                return await self.side.send_to_slow(f"{self.prefix}_slow", chunks)

    async def _let_pass(self, step: LapseStep | ReconnectStep | RestartStep) -> str:
        match step:
            case LapseStep():
                return await self._pause()
            case RestartStep():
                return await self._restart()
            case ReconnectStep():
                return ""

    async def _publish(self, step: PublishStep) -> str:
        headers = {"Nats-Msg-Id": step.message_id} if step.message_id else {}
        return answer_in_words(await self._ask(f"{self.prefix}.{step.subject}", bytes(step.size_bytes), headers))

    async def _pull(self, step: PullStep) -> str:
        request: Json = {"batch": step.batch, "no_wait": step.no_wait}
        if step.stays:
            self._ask_for(step.consumer, request, f"{self.prefix}_stay{self._pauses}")
            return ""
        expires = {"expires": round(PULL_EXPIRES_S * NS_PER_S)}
        self._ask_for(step.consumer, {**request, **expires}, f"{self.prefix}_pull")
        with trio.move_on_after(PULL_S):
            while len(self.pulled) < step.batch and not any(message.status for message in self.pulled):
                self._news = trio.Event()
                await self._news.wait()
        return ""

    def _ask_for(self, consumer: str, request: Json, reply: str) -> None:
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.prefix}.{consumer}"
        self.bus.publish_nowait(subject, json.dumps(request).encode(), reply=reply)

    async def _answer(self, step: AnswerStep) -> str:
        if not self.acks:
            return "holds nothing"
        delay_s = DELAYS_S.get(step.word)
        word = step.word.encode() if delay_s is None else encode_nak(delay_s)
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
            "max_age": round(MAX_AGE_S * NS_PER_S) if step.ages else 0,
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
        return call_in_words(await self._ask(f"$JS.API.{call}", data, {}))

    async def _listen(self, pattern: str, queue: str) -> str:
        """Or stop it. Who hears what no stream takes answers, so that the one who said it need not wait."""
        if (listening := self._listening.pop((pattern, queue), None)) is not None:
            await listening.aclose()
            return "stopped"

        def on_message(message: Message) -> None:
            self.heard.setdefault((queue or pattern, queue), []).append(message.subject.removeprefix(self.prefix))
            if message.reply and ".none." in message.subject:
                self.bus.publish_nowait(message.reply, HEARD)

        listening = self._listening[(pattern, queue)] = await self.held.enter_async_context(AsyncExitStack())
        await listening.enter_async_context(self.bus.subscribe(f"{self.prefix}.{pattern}", on_message, queue=queue))
        return "began"

    async def _restart(self) -> str:
        """An advisory may come before anybody is there again to hear it, so none of this lapse is told."""
        session = self.bus.session
        await self.side.restart()
        with trio.fail_after(SESSION_S):
            await self.bus.wait_session(newer_than=session)
        told = await self._pause()
        self.told.clear()
        return told

    async def _pause(self) -> str:
        """No pull stays open beyond it: to what would fall due in it, nobody listens."""
        await self._stays.aclose()
        await trio.sleep(LAPSE_S)
        stayed = by_consumer(self.stayed)
        self.acks += [message.reply for message in stayed if decode_delivery(message) is not None]
        arrived = in_any_order([arrival_in_words(message, self.prefix) for message in stayed])
        heard = {" ".join(who): subjects for who, subjects in sorted(self.heard.items())}
        self.stayed.clear()
        self.heard.clear()
        await self._open_stays()
        return f"stayed {arrived} heard {heard}"

    async def _open_stays(self) -> None:
        """Under another name each time, so that the server takes no pull from before for one that is wanted."""
        self._pauses += 1
        self._stays = AsyncExitStack()
        subject = f"{self.prefix}_stay{self._pauses}"
        await self._stays.enter_async_context(self.bus.subscribe(subject, self.stayed.append))

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

    def _on_pulled(self, message: Message) -> None:
        self.pulled.append(message)
        if decode_delivery(message) is not None:
            self.acks.append(message.reply)
        self._news.set()
