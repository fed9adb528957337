"""A whole worker on a stage: the real `app.run` between a scripted bus, queue, backend and config service."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import attrs
import trio

from sie.authority.client import Authority, AuthorityError
from sie.bus.api import Bus
from sie.domain.bundle import Bundle
from sie.domain.subjects import is_direct
from sie.domain.worker import WorkerStatus
from sie.wire.configs_api import EpochReply, ExportReply, ExportRow
from sie.wire.heartbeat import decode_heartbeat
from sie.wire.pool_listing import ListedPool
from sie.wire.result import WorkResult
from sie.worker.app import World, run
from sie.worker.children import Child, Report
from sie.worker.consume.crash_book import CrashMemory, CrashStore
from sie.worker.consume.source import Queue, WorkSource
from sie.worker.devices import open_children
from sie.worker.gate import GatewayPools, PoolsUnread
from sie.worker.http.serving import Serve
from sie.worker.settings import WorkerSettings, plan_worker
from tests.worker.doubles import (
    BUNDLE,
    LANE,
    MODEL,
    OTHER,
    WORKER,
    Script,
    ScriptedBus,
    ScriptedLaunch,
    ScriptedQueue,
    machine,
    model_config,
    serve,
)

LIMIT_S = 10_000.0
"""Of a clock that jumps: more than any backoff of the worker."""


@attrs.define(eq=False)
class ScriptedAuthority:
    failures: int = 0
    reads: int = 0

    async def read_epoch(self) -> EpochReply:
        return EpochReply(epoch=1)

    async def read_bundles(self) -> tuple[Bundle, ...]:
        await trio.lowlevel.checkpoint()
        self.reads += 1
        if self.reads <= self.failures:
            raise AuthorityError("the config service is not up")
        return (BUNDLE,)

    async def read_export(self) -> ExportReply:
        return ExportReply(epoch=1, models=tuple(map(row, (MODEL, OTHER))))


@attrs.define(eq=False)
class ScriptedPools:
    """`known` is told until the gateway is `away`."""

    known: tuple[ListedPool, ...] = ()
    is_away: bool = False
    reads_s: list[float] = attrs.field(factory=list)

    async def read_pools(self) -> tuple[ListedPool, ...]:
        await trio.lowlevel.checkpoint()
        self.reads_s.append(trio.current_time())
        if self.is_away:
            raise PoolsUnread("GET /v1/pools: connection refused")
        return self.known


def row(name: str) -> ExportRow:
    return ExportRow(model_id=name, model_config=model_config(name))


@attrs.define(eq=False)
class Stage:
    stop: trio.Event
    bus: ScriptedBus
    queue: ScriptedQueue
    launch: ScriptedLaunch
    own_queue: ScriptedQueue = attrs.field(factory=ScriptedQueue)
    ended: trio.Event = attrs.field(factory=trio.Event)

    async def results(self, count: int) -> list[WorkResult]:
        await until(lambda: len(self.bus.results()) >= count)
        return self.bus.results()

    def status(self) -> WorkerStatus:
        return decode_heartbeat(self.bus.heartbeats()[-1])

    async def until_ready(self) -> None:
        await until(lambda: bool(self.bus.heartbeats()) and self.status().ready)


async def until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(LIMIT_S):
        while not condition():  # noqa: ASYNC110 - the clock jumps
            await trio.sleep(0.05)


@asynccontextmanager
async def worker(
    *scripts: Script,
    preload: tuple[str, ...] = (),
    authority: ScriptedAuthority | None = None,
    pool: str = LANE.pool,
    pools: ScriptedPools | None = None,
    serve_status: Serve | None = None,
    crash_store: CrashStore | None = None,
    device: str = "cpu",
    memory_bytes: int | None = None,
) -> AsyncIterator[Stage]:
    """Stopped at the end of the block, and waited for. Without `pools` it has no gateway to ask."""
    stage = Stage(trio.Event(), ScriptedBus(), ScriptedQueue(), ScriptedLaunch(scripts or (serve,)))
    gateway_url = None if pools is None else "http://gateway"
    settings = WorkerSettings(
        worker_id=WORKER,
        preload=preload,
        pool=pool,
        gateway_url=gateway_url,
        auth_token="inference",
        device=device,
        model_memory_bytes=memory_bytes,
    )
    children = len(plan_worker(settings).devices)
    world = world_of(stage, authority or ScriptedAuthority(), pools or ScriptedPools(), children=children)
    world = attrs.evolve(world, serve=serve_status, crash_store=crash_store or CrashMemory())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_run, settings, world, stage)
        yield stage
        stage.stop.set()


async def _run(settings: WorkerSettings, world: World, stage: Stage) -> None:
    await run(settings, world)
    stage.ended.set()


def world_of(stage: Stage, authority: ScriptedAuthority, pools: ScriptedPools, *, children: int = 1) -> World:
    @asynccontextmanager
    async def open_bus(url: str, *, inbox: str, name: str) -> AsyncIterator[Bus]:
        assert url
        assert name
        stage.bus.inbox = inbox
        yield stage.bus

    @asynccontextmanager
    async def open_authority(url: str, token: str | None) -> AsyncIterator[Authority]:
        assert url
        assert token is None
        yield authority

    def open_scripted(report: Report) -> AbstractAsyncContextManager[Child]:
        return open_children((stage.launch,) * children, report)

    def open_source(_: Bus, queue: Queue) -> WorkSource:
        assert queue.stream.name == queue.consumer.stream
        return stage.own_queue if is_direct(queue.consumer.filter_subject) else stage.queue

    @asynccontextmanager
    async def open_pools(url: str, token: str | None) -> AsyncIterator[GatewayPools]:
        assert (url, token) == ("http://gateway", "inference")
        yield pools

    return World(machine(stage.stop), open_bus, open_authority, open_scripted, open_source, open_pools)


def own_words_of(stage: Stage) -> list[bytes]:
    """What the broker was told of deliveries by the worker's own queue."""
    return [m.data for m in stage.bus.published if m.subject.startswith(f"$JS.ACK.WORK_WORKER_{WORKER}.")]


def lane_words_of(stage: Stage) -> list[bytes]:
    """And of those by its lane's."""
    return [m.data for m in stage.bus.published if m.subject.startswith("$JS.ACK.WORK_POOL_")]


def words_of(stage: Stage) -> Mapping[int, list[bytes]]:
    """What the broker was told of each delivery, in order."""
    told: dict[int, list[bytes]] = {}
    for seq, word in stage.bus.words():
        told.setdefault(seq, []).append(word)
    return told
