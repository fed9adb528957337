"""All processes of one system together: started at once, kept, stopped one by one in order, and never left behind."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio

from sie.cli.child import KILL_S, Child
from sie.cli.deaths import Phase
from sie.cli.failure import Failure
from sie.cli.keeper import Keeper
from sie.cli.logs import log_of
from sie.cli.plan import Service
from sie.cli.screen import Screen


@attrs.define(eq=False)
class Family:
    """`stop` ends the system when set: by a signal, or by `fail`.

    `unsettled` is set by each start of a process and replaced by `settle`: whoever watches looks again.
    """

    screen: Screen
    logs: Path
    stop: trio.Event
    keepers: tuple[Keeper, ...] = ()
    failure: Failure | None = None
    phase: Phase = "starting"
    unsettled: trio.Event = attrs.field(factory=trio.Event)

    @property
    def pids(self) -> Mapping[str, int]:
        return {keeper.service.name: keeper.child.pid for keeper in self.keepers if keeper.child}

    @property
    def lives(self) -> Mapping[str, int]:
        """How often each process has been started."""
        return {keeper.service.name: keeper.lives for keeper in self.keepers}

    def settle(self) -> None:
        """Everything is ready: from now on a process that dies is started again for ever."""
        self.phase, self.unsettled = "running", trio.Event()

    def started_again(self, _: Service) -> None:
        self.unsettled.set()

    def give_up(self, service: Service, reason: str) -> None:
        self.fail(Failure(reason, log_of(self.logs, service.name)))

    def fail(self, failure: Failure) -> None:
        self.failure = self.failure or failure
        self.stop.set()

    def kill(self) -> None:
        """End every process at once."""
        for keeper in self.keepers:
            keeper.kill()

    def reap(self) -> None:
        """Collect those that were killed; this blocks, for as long as the kernel takes to end them."""
        for keeper in self.keepers:
            if keeper.child and not keeper.child.reaped:
                keeper.child.reap()


def make_family(
    services: Sequence[Service], children: Mapping[str, Child], logs: Path, screen: Screen, stop: trio.Event
) -> Family:
    """`children` are the services in their first life; one that is not among them is started by its keeper."""
    family = Family(screen, logs, stop)
    family.keepers = tuple(
        Keeper(service, log_of(logs, service.name), screen, family, children.get(service.name)) for service in services
    )
    return family


@asynccontextmanager
async def living(family: Family) -> AsyncIterator[None]:
    """All processes are kept from here on; stopped in order when the body ends, killed when it is cancelled."""
    family.unsettled.set()
    limit_s = sum(keeper.service.grace_s + KILL_S for keeper in family.keepers)
    try:
        async with trio.open_nursery() as nursery:
            for keeper in family.keepers:
                nursery.start_soon(keeper.keep)
            try:
                yield
            finally:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + limit_s):
                    await stop_in_order(family.keepers)
    finally:
        family.kill()
        family.reap()


async def stop_in_order(keepers: Sequence[Keeper]) -> None:
    """From the last, which needs the others most, to the first."""
    for keeper in reversed(keepers):
        await keeper.stop()
