"""The gateway's surroundings as scripts: a bus that answers JetStream, an authority, a server that calls in place."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

import attrs
import httpx2
import trio
import trio.testing

from sie.authority.client import Authority, AuthorityError
from sie.bus.api import NO_HEADERS, Bus, Correlation, Handler, Message, NotConnected
from sie.domain.bundle import Bundle
from sie.domain.ids import BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import ModelState, WorkerStatus
from sie.gateway.app import World, run
from sie.gateway.pools.cluster import OpenKube, open_found_kube
from sie.gateway.settings import GatewaySettings
from sie.gateway.sync.worker_socket import Connect, open_stream
from sie.wire.codec import pack
from sie.wire.configs_api import EpochReply, ExportReply, ExportRow
from sie.wire.documents import model_of
from sie.wire.heartbeat import encode_heartbeat
from sie.wire.result import WorkResult, encode_result
from sie.wire.work import WorkItem, decode_work
from tests.in_place import ServerInPlace, machine_in_place

MODEL = "acme/small"
MODEL_CONFIG: Mapping[str, object] = {
    "sie_id": MODEL,
    "tasks": {"encode": {"dense": {"dim": 2}}},
    "profiles": {"default": {"adapter_path": "acme.encoders:Small", "max_batch_tokens": 64}},
}
BUNDLE = Bundle(BundleName("default"), ("acme.encoders",), 10)
SNAPSHOT = RegistrySnapshot.of([BUNDLE], [model_of(MODEL_CONFIG)])
LANE = Lane(PoolName("default"), MachineProfile("default"), BundleName("default"))


@attrs.define
class _Correlation:
    bus: "ScriptedBus"
    subject: str

    def forget(self) -> None:
        self.bus.correlated.pop(self.subject, None)


@attrs.define
class ScriptedBus:
    """`on_work` decides what becomes of a work message; the default stores it and acknowledges."""

    inbox: str
    session: int = 1
    max_payload: int = 1024 * 1024
    published: list[Message] = attrs.field(factory=list)
    streams: dict[str, object] = attrs.field(factory=dict)
    correlated: dict[str, Handler] = attrs.field(factory=dict)
    subscribed: dict[str, Handler] = attrs.field(factory=dict)
    on_work: Callable[["ScriptedBus", Message], None] | None = None
    waiting: int = 0
    consumers: int = 1
    delivered: int | None = None
    _inbox_handler: Handler | None = None
    _tokens: int = 0

    @property
    def work(self) -> list[WorkItem]:
        return [decode_work(m.data) for m in self.published if m.subject.startswith("sie.work.")]

    def publish_nowait(
        self, subject: str, data: bytes, *, reply: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        if not self.session:
            raise NotConnected("there is no connection")
        message = Message(subject, data, reply, headers)
        self.published.append(message)
        if subject.startswith("$JS.API."):
            self.answer(message, self._api(subject.removeprefix("$JS.API."), data))
        elif subject.startswith("sie.work."):
            (self.on_work or store)(self, message)

    def answer(self, message: Message, body: Mapping[str, object]) -> None:
        handler = self.correlated.get(message.reply)
        if handler is not None:
            handler(Message(message.reply, json.dumps(body).encode()))

    def deliver(self, result: WorkResult, subject: str | None = None) -> None:
        assert self._inbox_handler is not None
        self._inbox_handler(Message(subject or f"{self.inbox}.{result.request_id}", encode_result(result)))

    def deliver_raw(self, subject: str, data: bytes) -> None:
        assert self._inbox_handler is not None
        self._inbox_handler(Message(subject, data))

    def correlate(self, on_reply: Handler) -> Correlation:
        self._tokens += 1
        subject = f"{self.inbox}._ack.{self._tokens}"
        self.correlated[subject] = on_reply
        return _Correlation(self, subject)

    def on_inbox(self, handler: Handler) -> None:
        self._inbox_handler = handler

    @asynccontextmanager
    async def subscribe(self, subject: str, handler: Handler, *, queue: str = "") -> AsyncIterator[None]:
        assert not queue
        self.subscribed[subject] = handler
        yield
        del self.subscribed[subject]

    async def wait_session(self, *, newer_than: int = 0) -> int:
        while self.session <= newer_than:  # noqa: ASYNC110 - tests set the number alone
            await trio.sleep(1)
        return self.session

    def heartbeat(self, status: WorkerStatus) -> None:
        self.subscribed["sie.health.>"](Message(f"sie.health.{status.worker}", encode_heartbeat(status)))

    def _api(self, call: str, data: bytes) -> Mapping[str, object]:
        verb, _, name = call.rpartition(".")
        if verb == "STREAM.CREATE":
            self.streams[name] = json.loads(data)
        if verb.startswith("CONSUMER.INFO."):
            if self.delivered is None:
                return {"error": {"code": 404, "err_code": 10014, "description": "consumer not found"}}
            return {"config": {}, "delivered": {"stream_seq": self.delivered}}
        if name not in self.streams:
            return {"error": {"code": 404, "err_code": 10059, "description": "stream not found"}}
        return {"config": self.streams[name], "state": {"messages": self.waiting, "consumer_count": self.consumers}}


def is_direct(message: Message) -> bool:
    return message.subject.count(".") == 6


def store(bus: ScriptedBus, message: Message) -> None:
    bus.answer(message, {"stream": "WORK_POOL_default", "seq": len(bus.published)})


def answer_at_once(bus: ScriptedBus, message: Message) -> None:
    store(bus, message)
    bus.deliver(success(decode_work(message.data)))


def success(item: WorkItem, values: object = None) -> WorkResult:
    blob = {"id": (item.item or {}).get("id"), "dense": {"dims": 2, "dtype": "float32", "values": values or [1.0, 2.0]}}
    return WorkResult(
        work_item_id=item.work_item_id,
        request_id=item.request_id,
        item_index=item.item_index,
        success=True,
        result_msgpack=pack(blob),
        inference_ms=3.25,
        worker_id="w1",
    )


def failure(item: WorkItem, code: str | None, error: str = "it broke") -> WorkResult:
    return WorkResult(
        work_item_id=item.work_item_id,
        request_id=item.request_id,
        item_index=item.item_index,
        success=False,
        error=error,
        error_code=code,
    )


def worker(name: str = "w1", *, ready: bool = True, config_hash: str | None = None) -> WorkerStatus:
    ours = SNAPSHOT.scoped_hash(LANE.bundle, LANE.pool)
    return WorkerStatus(
        WorkerId(name), LANE, config_hash or ours, ready=ready, models=(ModelState(MODEL, "loaded", "ready"),)
    )


@attrs.define
class ScriptedAuthority:
    """`calls` records the order; the first `failures` calls fail."""

    calls: list[str] = attrs.field(factory=list)
    failures: int = 0
    bundles: tuple[Bundle, ...] = (BUNDLE,)
    rows: tuple[ExportRow, ...] = (ExportRow(model_id=MODEL, model_config=MODEL_CONFIG),)

    async def read_epoch(self) -> EpochReply:
        self._call("epoch")
        return EpochReply(epoch=3)

    async def read_bundles(self) -> tuple[Bundle, ...]:
        self._call("bundles")
        return self.bundles

    async def read_export(self) -> ExportReply:
        self._call("export")
        return ExportReply(epoch=3, models=self.rows)

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.failures:
            self.failures -= 1
            raise AuthorityError(f"{name}: not there yet")


@attrs.define
class Gateway:
    """A running gateway with the client that calls it in place."""

    bus: ScriptedBus
    client: httpx2.AsyncClient
    authority: ScriptedAuthority
    server: ServerInPlace
    stop: trio.Event

    def beat(self, **fields: object) -> None:
        """A heartbeat as a map, of a healthy worker of the default lane that holds our configuration."""
        ours = SNAPSHOT.scoped_hash(LANE.bundle, LANE.pool)
        beat = {"name": "w1", "ready": True, "bundle": "default", "bundle_config_hash": ours, **fields}
        self.bus.subscribed["sie.health.>"](Message(f"sie.health.{beat['name']}", pack(beat)))

    async def encode(self, *texts: str) -> httpx2.Response:
        return await self.client.post(f"/v1/encode/{MODEL}", json={"items": [{"text": text} for text in texts]})


@asynccontextmanager
async def open_gateway(
    *,
    session: int = 1,
    authority: ScriptedAuthority | None = None,
    with_worker: bool = True,
    settings: GatewaySettings | None = None,
    on_work: Callable[[ScriptedBus, Message], None] | None = None,
    connect: Connect = open_stream,
    open_kube: OpenKube = open_found_kube,
) -> AsyncIterator[Gateway]:
    """The real `run` with everything outside it scripted; the bootstrap is over when this is entered."""
    source = authority or ScriptedAuthority()
    buses: list[ScriptedBus] = []
    server, stop = ServerInPlace(), trio.Event()

    @asynccontextmanager
    async def open_bus(url: str, *, inbox: str, name: str) -> AsyncIterator[Bus]:
        assert url
        assert name
        buses.append(ScriptedBus(inbox, session, on_work=on_work))
        yield buses[0]

    @asynccontextmanager
    async def open_authority(base_url: str, token: str | None) -> AsyncIterator[Authority]:
        assert base_url
        assert token == used.admin_token
        yield source

    machine = machine_in_place(stop, unix_s=lambda: 1_000_000.0 + trio.current_time())
    world = World(machine, open_bus, open_authority, server.serve, connect, open_kube)
    used = settings or GatewaySettings(config_service_url="http://config", request_timeout_s=30.0)
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(run, used, world))
        await trio.testing.wait_all_tasks_blocked()
        if with_worker:
            buses[0].heartbeat(worker())
        async with server.client() as client:
            yield Gateway(buses[0], client, source, server, stop)
        stop.set()
