"""The worker put together: the backend child first, then the bus, one reading of the export, and the lane's work.

The child is started before anything else, because it takes longest to come up; nothing waits for it until there is a
model to load.
"""

import logging
from collections.abc import Callable, Iterable
from typing import NoReturn

import attrs
import trio

from sie.authority.client import Authority, AuthorityError, OpenAuthority
from sie.authority.snapshot import Assembled, assemble
from sie.bus.api import Bus, OpenBus
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import WorkerStatus
from sie.runtime.retrying import Backoff
from sie.runtime.service import running
from sie.runtime.world import Machine
from sie.worker.children import Child, OpenChild
from sie.worker.consume.answers import Answers
from sie.worker.consume.dispatcher import Dispatcher
from sie.worker.consume.intake import Intake
from sie.worker.consume.lane import LaneWork
from sie.worker.consume.source import OpenSource
from sie.worker.consume.wakeup import Wakeup
from sie.worker.core.held_work import HeldWork
from sie.worker.core.loading import canonical_names
from sie.worker.core.state import ChildEvent, WorkerState
from sie.worker.heartbeat import Heart
from sie.worker.settings import Plan, WorkerSettings, plan_worker

log = logging.getLogger(__name__)

EXPORT_RETRY = Backoff(initial_s=0.2, cap_s=10.0)


@attrs.frozen
class World:
    machine: Machine
    open_bus: OpenBus
    open_authority: OpenAuthority
    open_child: OpenChild
    open_source: OpenSource


async def run(
    settings: WorkerSettings, world: World, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Returns in order once the machine's stop event is set; `task_status` tells that the heart beats."""
    plan = plan_worker(settings)
    worker = _Worker(plan, world, WorkerState(plan.worker, plan.lane, settings.device))
    inbox = f"_INBOX.worker-{world.machine.token()}"
    async with (
        world.open_child(worker.on_child) as child,
        world.open_bus(settings.nats_url, inbox=inbox, name=f"sie-worker {plan.worker}") as bus,
    ):
        heart = Heart(bus, worker.status)
        worker.listeners.append(heart.beat_soon)
        async with running(heart.beat_forever, heart.greet_sessions_forever, worker.announce_stop):
            task_status.started()
            snapshot = await worker.read_registry(settings.config_service_url, settings.admin_token)
            if snapshot is not None:
                await worker.serve(child, bus, snapshot, settings.preload)
            heart.beat()


@attrs.define(eq=False)
class _Worker:
    """`listeners` are told of every change of the state."""

    plan: Plan
    world: World
    state: WorkerState
    held_work: HeldWork = attrs.field(factory=HeldWork)
    listeners: list[Callable[[], None]] = attrs.field(factory=list)

    def on_child(self, event: ChildEvent) -> None:
        self.state.receive(event, now_s=trio.current_time())
        self.changed()

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

    async def read_registry(self, url: str, token: str | None) -> RegistrySnapshot | None:
        """None when the stop came first."""
        read: list[Assembled] = []
        async with self.world.open_authority(url, token) as authority, trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_at, self.world.machine.stop, nursery.cancel_scope)
            read.append(await read_export_until_done(authority))
            nursery.cancel_scope.cancel()
        return read[0].snapshot if read else None

    async def serve(self, child: Child, bus: Bus, snapshot: RegistrySnapshot, preload: Iterable[str]) -> None:
        self.state.install(snapshot)
        self.state.models.preload(canonical_names(snapshot, preload))
        self.changed()
        wake, room, answers = Wakeup(), Wakeup(), Answers(bus)
        self.listeners.append(wake.ring)
        dispatcher = Dispatcher(
            state=self.state,
            snapshot=snapshot,
            held_work=self.held_work,
            answers=answers,
            child=child,
            machine=self.world.machine,
            wake=wake,
            room=room,
        )
        intake = Intake(
            state=self.state,
            snapshot=snapshot,
            held_work=self.held_work,
            answers=answers,
            sessions=bus,
            source=self.world.open_source(bus, self.plan.stream, self.plan.consumer),
            machine=self.world.machine,
            changed=self.changed,
            arrived=wake,
            room=room,
        )
        await LaneWork(bus, self.held_work, answers, intake, dispatcher).run_until(self.world.machine.stop)


async def read_export_until_done(authority: Authority) -> Assembled:
    """Bundles and models as the config service has them now; tried again for as long as it takes."""
    for delay_s in EXPORT_RETRY.delays():
        try:
            bundles = await authority.read_bundles()
            assembled = assemble(bundles, await authority.read_export())
        except AuthorityError as error:
            log.warning("the export cannot be read yet", extra={"error": str(error), "retry_in_s": delay_s})
            await trio.sleep(delay_s)
        else:
            for model, problem in assembled.failed.items():
                log.error("a model of the export is left out", extra={"model": model, "problem": problem})
            log.info("the export is read", extra={"models": len(assembled.snapshot.models)})
            return assembled
    raise AssertionError("the delays have no end")


async def _cancel_at(stop: trio.Event, scope: trio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()
