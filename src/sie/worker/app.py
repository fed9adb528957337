"""The worker put together: the backend child first, then the bus, the registry that follows, and the work.

The child is started before anything else, because it takes longest to come up; nothing waits for it until there is a
model to load.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import NoReturn

import attrs
import trio

from sie.authority.client import Authority, OpenAuthority
from sie.bus.api import Bus, OpenBus
from sie.bus.dead_letters import DeadLetterBox, dead_letters_spec
from sie.domain.hash_form import HashForm
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import WorkerStatus
from sie.runtime.service import running
from sie.runtime.world import Machine
from sie.storage.opening import open_payloads
from sie.storage.payloads import PayloadStore
from sie.worker.children import Child, OpenChild
from sie.worker.consume.aftermath import Aftermath
from sie.worker.consume.answers import Answers
from sie.worker.consume.burial import Burial
from sie.worker.consume.cancels import Cancels
from sie.worker.consume.crash_book import CrashBook, CrashMemory, CrashStore
from sie.worker.consume.dispatcher import Dispatcher
from sie.worker.consume.fetches import Fetches
from sie.worker.consume.intake import Intake
from sie.worker.consume.lane import LaneWork
from sie.worker.consume.leaving import Leaving
from sie.worker.consume.payloads import Payloads
from sie.worker.consume.source import OWN_CAPACITY, PULL_CAPACITY, OpenSource, Queue
from sie.worker.consume.wakeup import Wakeup, Wakeups
from sie.worker.core.cancels import Tombstones
from sie.worker.core.gate import Gate
from sie.worker.core.held_work import HeldWork
from sie.worker.core.loading import canonical_names, served_names
from sie.worker.core.memory import Memory
from sie.worker.core.models import ModelStates
from sie.worker.core.state import ChildEvent, WorkerState
from sie.worker.gate import AskSoon, GatewayPools, OpenPools, open_http_pools, polled
from sie.worker.heartbeat import Heart
from sie.worker.http.serving import Endpoint, Serve, told
from sie.worker.http.telling import Telling
from sie.worker.settings import Plan, WorkerSettings, plan_worker
from sie.worker.sync import Reconciler


@attrs.frozen
class World:
    machine: Machine
    open_bus: OpenBus
    open_authority: OpenAuthority
    open_child: OpenChild
    open_source: OpenSource
    open_pools: OpenPools = open_http_pools
    open_payload_store: Callable[[str], PayloadStore] = open_payloads
    serve: Serve | None = None
    crash_store: CrashStore = attrs.field(factory=CrashMemory)


async def run(
    settings: WorkerSettings, world: World, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Returns in order once the machine's stop event is set; `task_status` tells that the heart beats."""
    plan = plan_worker(settings)
    gate = Gate(plan.worker, plan.lane, is_polled=settings.gateway_url is not None)
    store = None if settings.payload_store_url is None else world.open_payload_store(settings.payload_store_url)
    models = ModelStates(Memory(len(plan.devices), settings.model_memory_bytes, plan.sharing))
    state = WorkerState(plan.worker, plan.lane, settings.device, models)
    crashes = CrashBook(world.crash_store, world.machine.run_in_thread, world.machine.unix_s)
    worker = _Worker(plan, world, state, gate, store, crashes)
    telling = Telling(state, gate, worker.held_work, worker.status)
    inbox = f"_INBOX.worker-{world.machine.token()}"
    async with (
        world.open_child(worker.on_child) as child,
        told(telling.views, _endpoint(settings, plan, world)),
        world.open_bus(settings.nats_url, inbox=inbox, name=f"sie-worker {plan.worker}") as bus,
    ):
        telling.sessions = bus
        heart = Heart(bus, worker.status)
        worker.listeners.append(heart.beat_soon)
        async with (
            world.open_authority(settings.config_service_url, settings.admin_token) as authority,
            polled(gate, _open_pools(settings, world), world.machine.random, worker.on_pools) as ask_pools,
            running(heart.beat_forever, heart.greet_sessions_forever, worker.announce_stop),
        ):
            task_status.started()
            reconciler = worker.reconciler(authority, HashForm(settings.hash_form), settings.preload)
            await crashes.read()
            if await _unless(world.machine.stop, reconciler.read_until_done):
                async with running(partial(reconciler.follow_forever, bus, plan.lane.bundle)):
                    await worker.serve(child, bus, ask_pools, settings.drain_grace_s)
            heart.beat()


@attrs.define(eq=False)
class _Worker:
    """`listeners` are told of every change of the state. There are no `intakes` until it serves."""

    plan: Plan
    world: World
    state: WorkerState
    gate: Gate
    payloads: PayloadStore | None
    crashes: CrashBook
    held_work: HeldWork = attrs.field(factory=HeldWork)
    listeners: list[Callable[[], None]] = attrs.field(factory=list)
    wake: Wakeup = attrs.field(factory=Wakeup)
    intakes: tuple[Intake, ...] = ()

    def on_child(self, event: ChildEvent) -> None:
        self.state.receive(event, now_s=trio.current_time())
        self.changed()

    def on_pools(self) -> None:
        """What waits is judged again, and nothing is to be said of it."""
        self._pin()
        self.wake.ring()
        for intake in self.intakes:
            intake.pools_told.ring()

    def changed(self) -> None:
        for listener in self.listeners:
            listener()

    def status(self, connected: bool) -> WorkerStatus:
        return self.state.status(
            connected=connected, pending_items=len(self.held_work), now_s=self.world.machine.unix_s()
        )

    async def announce_stop(self) -> NoReturn:
        await self.world.machine.stop.wait()
        self.state.draining = True
        self.changed()
        await trio.sleep_forever()

    def reconciler(self, authority: Authority, form: HashForm, preload: Iterable[str]) -> Reconciler:
        machine, wanted = self.world.machine, tuple(preload)

        def install(snapshot: RegistrySnapshot) -> None:
            is_first = self.state.snapshot is None
            self.state.install(snapshot)
            served = served_names(snapshot, self.plan.lane)
            names = canonical_names(snapshot, wanted)
            # A name that nobody knows at the start is a mistake to be seen; one that was taken away later is not ours.
            self.state.models.preload(name for name in names if is_first or name in served)
            self._pin()
            self.changed()

        return Reconciler(authority, machine.build_in_thread, form, machine.random, install)

    def _pin(self) -> None:
        if self.state.snapshot is not None:
            self.state.models.pin(canonical_names(self.state.snapshot, self.gate.pinned()))

    async def serve(self, child: Child, bus: Bus, ask_pools: AskSoon, grace_s: float) -> None:
        plan, answers, tombstones = self.plan, Answers(bus), Tombstones()
        self.intakes = tuple(
            self._intake(queue, bus, answers, tombstones, ask_pools)
            for queue in (
                Queue(plan.stream, plan.consumer, PULL_CAPACITY),
                Queue(plan.own_stream, plan.own_consumer, OWN_CAPACITY),
            )
        )
        self.listeners.append(self.wake.ring)
        room = Wakeups(tuple(intake.room for intake in self.intakes))
        dispatcher = self._dispatcher(child, bus, answers, room)
        leaving = Leaving(bus, self.intakes[1].source, answers)
        work = LaneWork(bus, self.held_work, answers, self.intakes, dispatcher, leaving, grace_s)
        async with Cancels(tombstones, self.held_work, answers, room).heard(bus, plan.worker):
            await work.run_until(self.world.machine.stop)

    def _intake(self, queue: Queue, bus: Bus, answers: Answers, tombstones: Tombstones, ask_pools: AskSoon) -> Intake:
        return Intake(
            state=self.state,
            gate=self.gate,
            tombstones=tombstones,
            held_work=self.held_work,
            answers=answers,
            fetches=Fetches(Payloads(self.payloads, self.world.machine.run_in_thread), answers),
            sessions=bus,
            source=self.world.open_source(bus, queue),
            consumer=queue.consumer,
            machine=self.world.machine,
            changed=self.changed,
            ask_pools=ask_pools,
            arrived=self.wake,
        )

    def _dispatcher(self, child: Child, bus: Bus, answers: Answers, room: Wakeups) -> Dispatcher:
        return Dispatcher(
            state=self.state,
            gate=self.gate,
            held_work=self.held_work,
            answers=answers,
            child=child,
            aftermath=self._aftermath(child, bus),
            machine=self.world.machine,
            wake=self.wake,
            room=room,
        )

    def _aftermath(self, child: Child, bus: Bus) -> Aftermath:
        return Aftermath(
            state=self.state,
            held_work=self.held_work,
            child=child,
            burial=self._burial(bus),
            crashes=self.crashes,
            changed=self.changed,
        )

    def _burial(self, bus: Bus) -> Burial:
        stream = self.plan.stream
        box = DeadLetterBox(bus, dead_letters_spec(storage=stream.storage, replicas=stream.replicas))
        return Burial(box, self.plan.consumer_of, self.plan.worker, self.world.machine.unix_s)


def _endpoint(settings: WorkerSettings, plan: Plan, world: World) -> Endpoint | None:
    if plan.port is None or world.serve is None:
        return None
    return Endpoint(world.serve, settings.host, plan.port)


def _open_pools(settings: WorkerSettings, world: World) -> AbstractAsyncContextManager[GatewayPools] | None:
    if settings.gateway_url is None:
        return None
    return world.open_pools(settings.gateway_url, settings.auth_token)


async def _unless(stop: trio.Event, work: Callable[[], Awaitable[None]]) -> bool:
    """False: the stop came first."""
    done = False
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_cancel_at, stop, nursery.cancel_scope)
        await work()
        done = True
        nursery.cancel_scope.cancel()
    return done


async def _cancel_at(stop: trio.Event, scope: trio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()
