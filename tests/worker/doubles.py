"""The worker's surroundings as scripts: a bus that records, a queue fed by hand, a backend behind real IPC frames."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import attrs
import trio
import trio.testing

from sie.bus.api import NO_HEADERS, Correlation, Handler, Message, MessageTooLarge, NotConnected
from sie.bus.jetstream import ConsumerLost, Delivery, Puller
from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName, MachineProfile, ModelId, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.registry import RegistrySnapshot
from sie.domain.subjects import direct_subject
from sie.runtime.world import Machine
from sie.wire.documents import model_of
from sie.wire.ipc import (
    Answer,
    EncodeBatch,
    Finished,
    FrameReader,
    Hello,
    ItemOutcome,
    LoadModel,
    ModelUpdate,
    Request,
    UnloadModel,
    frame,
)
from sie.wire.result import WorkResult, decode_result
from sie.wire.work import WorkItem, encode_work

T = TypeVar("T")

MODEL = "acme/small"
OTHER = "acme/other"
WORKER = WorkerId("w1")
LANE = Lane(PoolName("default"), MachineProfile("default"), BundleName("default"))
BUNDLE = Bundle(BundleName("default"), ("acme.encoders",), 10)
REPLY = "_INBOX.gw-1.r1"


def model_config(name: str) -> Mapping[str, object]:
    return {
        "sie_id": name,
        "tasks": {"encode": {"dense": {"dim": 2}}},
        "max_sequence_length": 128,
        "profiles": {
            "default": {
                "adapter_path": "acme.encoders:Small",
                "max_batch_tokens": 64,
                "adapter_options": {"loadtime": {"a": 1}, "runtime": {"b": 2}},
            },
            "fast": {"extends": "default", "max_batch_tokens": 16},
        },
    }


SNAPSHOT = RegistrySnapshot.of([BUNDLE], [model_of(model_config(MODEL)), model_of(model_config(OTHER))])
HASH = SNAPSHOT.scoped_hash(LANE.bundle, LANE.pool) or ""


def work(number: int = 0, *, text: str = "hello") -> WorkItem:
    return WorkItem(
        work_item_id=f"r1.{number}",
        request_id="r1",
        item_index=number,
        total_items=1,
        operation="encode",
        model_id=MODEL,
        profile_id="default",
        pool_name="default",
        admission_pool="default",
        machine_profile="default",
        router_id="gw-1",
        reply_subject=REPLY,
        timestamp=UNIX_S - 0.5,
        bundle_config_hash=HASH,
        item={"text": text},
    )


def delivery(item: WorkItem | bytes, seq: int = 1, *, deliveries: int = 1) -> Delivery:
    data = item if isinstance(item, bytes) else encode_work(item)
    ack = f"$JS.ACK.WORK_POOL_default.lane.{deliveries}.{seq}.{seq}.0.0"
    return Delivery("sie.work.default.default.default.m", data, {}, ack, seq, deliveries, 0)


def own_delivery(item: WorkItem, seq: int = 1, *, deliveries: int = 1) -> Delivery:
    """By the worker's own queue."""
    ack = f"$JS.ACK.WORK_WORKER_{WORKER}.gen-{WORKER}.{deliveries}.{seq}.{seq}.0.0"
    subject = direct_subject(LANE, ModelId(MODEL), WORKER)
    return Delivery(subject, encode_work(item), {}, ack, seq, deliveries, 0)


UNIX_S = 1_800_000_000.0


async def run_inline(do: Callable[[], T], /) -> T:
    return do()


def machine(stop: trio.Event) -> Machine:
    return Machine(lambda: UNIX_S, random.Random(1), run_inline, stop)


@attrs.define
class _Correlation:
    subject: str

    def forget(self) -> None:
        return


@attrs.define(eq=False)
class ScriptedBus:
    """Keeps what is published, while there is a connection."""

    inbox: str = "_INBOX.worker-1"
    session: int = 1
    max_payload: int = 1024 * 1024
    published: list[Message] = attrs.field(factory=list)
    handlers: dict[str, Handler] = attrs.field(factory=dict)
    connected: trio.Event = attrs.field(factory=trio.Event)

    def publish_nowait(
        self, subject: str, data: bytes, *, reply: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        if not self.session:
            raise NotConnected("there is no connection")
        if len(data) > self.max_payload:
            raise MessageTooLarge(subject, len(data), self.max_payload)
        self.published.append(Message(subject, data, reply, headers))

    @asynccontextmanager
    async def subscribe(self, subject: str, handler: Handler, *, queue: str = "") -> AsyncIterator[None]:
        self.handlers[f"{subject} {queue}"] = handler
        yield

    def correlate(self, on_reply: Handler) -> Correlation:
        self.handlers[f"{self.inbox}._ack.1"] = on_reply
        return _Correlation(f"{self.inbox}._ack.1")

    def on_inbox(self, handler: Handler) -> None:
        self.handlers[f"{self.inbox}.>"] = handler

    async def wait_session(self, *, newer_than: int = 0) -> int:
        await trio.lowlevel.checkpoint()
        while self.session <= newer_than:
            await self.connected.wait()
        return self.session

    def drop(self) -> None:
        self.session = 0

    def connect(self, session: int) -> None:
        self.session = session
        self.connected.set()
        self.connected = trio.Event()

    def results(self) -> list[WorkResult]:
        return [decode_result(m.data) for m in self.published if m.subject.startswith("_INBOX.")]

    def words(self) -> list[tuple[int, bytes]]:
        """What the broker was told, by stream sequence."""
        return [(int(m.subject.split(".")[5]), m.data) for m in self.published if m.subject.startswith("$JS.ACK.")]

    def heartbeats(self) -> list[bytes]:
        return [m.data for m in self.published if m.subject.startswith("sie.health.")]


@attrs.define(eq=False)
class ScriptedQueue:
    """A lane's queue. `lose` ends the consumer; until it is ensured again a puller cannot be had of it."""

    ensured: int = 0
    opened: int = 0
    left: int = 0
    failures: list[Exception] = attrs.field(factory=list)
    buffered: list[Delivery] = attrs.field(factory=list)
    arrived: trio.Event = attrs.field(factory=trio.Event)
    is_lost: bool = False
    deleted: int = 0

    async def ensure(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.failures:
            raise self.failures.pop(0)
        self.ensured += 1
        self.is_lost = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Puller]:
        self.opened += 1
        try:
            yield self
        finally:
            self.left += 1

    async def is_empty(self) -> bool:
        await trio.lowlevel.checkpoint()
        return not self.buffered

    async def delete(self) -> None:
        await trio.lowlevel.checkpoint()
        self.deleted += 1

    async def receive(self) -> Delivery:
        while True:
            await trio.lowlevel.checkpoint()
            found = self.receive_nowait()
            if found is not None:
                return found
            await self.arrived.wait()

    def receive_nowait(self) -> Delivery | None:
        if self.buffered:
            return self.buffered.pop(0)
        if self.is_lost:
            raise ConsumerLost("consumer deleted")
        self.arrived = trio.Event()
        return None

    def put(self, *deliveries: Delivery) -> None:
        self.buffered += deliveries
        self.arrived.set()

    def lose(self) -> None:
        self.is_lost = True
        self.arrived.set()


Script = Callable[["Peer"], Awaitable[None]]


@attrs.define(eq=False)
class Peer:
    """The child's end of one connection. Leaving the script is the child's death."""

    stream: trio.abc.Stream
    reader: FrameReader = attrs.field(factory=FrameReader)
    arrived: list[Request | Answer] = attrs.field(factory=list)

    async def say(self, answer: Answer) -> None:
        await self.stream.send_all(frame(answer))

    async def hear(self) -> Request | Answer | None:
        """The next request, None at the end."""
        while not self.arrived:
            data = await self.stream.receive_some()
            if not data:
                return None
            self.arrived += self.reader.receive(bytes(data))
        return self.arrived.pop(0)

    async def greet(self) -> None:
        await self.say(Hello(device="cpu", pid=1))

    async def serve(self, on_batch: Callable[[EncodeBatch], Awaitable[None]] | None = None) -> None:
        """Load whatever is asked for; answer batches, after `on_batch` where given."""
        await self.greet()
        while (request := await self.hear()) is not None:
            if isinstance(request, LoadModel):
                await self.say(ModelUpdate(serving_id=request.serving_id, state="loading", activity="compiling 1/2"))
                await self.say(Finished(id=request.id))
            elif isinstance(request, UnloadModel):
                await self.say(Finished(id=request.id))
            elif isinstance(request, EncodeBatch):
                if on_batch is not None:
                    await on_batch(request)
                await self.say(finished(request))


def finished(batch: EncodeBatch) -> Finished:
    """Each outcome holds the text that it answers."""
    outcomes = tuple(ItemOutcome(result_msgpack=text_of(item.item), input_tokens=3) for item in batch.items)
    return Finished(id=batch.id, outcomes=outcomes, tokenization_ms=1.0, inference_ms=2.0, postprocessing_ms=0.5)


def text_of(item: Mapping[str, object]) -> bytes:
    return str(item["text"]).encode()


async def serve(peer: Peer) -> None:
    await peer.serve()


@attrs.define(eq=False)
class ScriptedLaunch:
    """One script a child, the last one for all that follow."""

    scripts: Sequence[Script]
    launched: int = 0

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[trio.abc.Stream]:
        ours, theirs = trio.testing.memory_stream_pair()
        script = self.scripts[min(self.launched, len(self.scripts) - 1)]
        self.launched += 1
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_play, script, Peer(theirs))
            yield ours
            nursery.cancel_scope.cancel()


async def _play(script: Script, peer: Peer) -> None:
    try:
        await script(peer)
    finally:
        await trio.aclose_forcefully(peer.stream)
