"""The config service as a process of a simulated cluster, on a disk that outlives it; a second one may write there too.

A disk call goes as the script said; one that the process dies in is the last thing it does.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import attrs
import trio

from sie.bus.api import Message
from sie.config.app import World, run
from sie.config.core.head import HEAD
from sie.config.settings import ConfigSettings
from sie.runtime.world import Machine
from sie.storage.backend import Backend, Named, Versioned
from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.cluster.exported import NOTHING, Exported
from sie.testing.cluster.machine import WallClock, machine_of
from sie.testing.cluster.process import Life, Process
from sie.testing.cluster.served import AppServer
from sie.testing.cluster.store_rules import StoreRules
from sie.testing.cluster.surroundings import Surroundings, cut_off, nothing
from sie.testing.cluster.tapped import Tap, tapped
from sie.testing.disk import Died, How

T = TypeVar("T")


@attrs.define(eq=False)
class ConfigNode:
    """`calls` is how the next calls to the disk go, `commits` how those go that commit; each takes `slowness_s`.

    `on_death` is told when one was the last. `exported` is what was last read here, by anyone.
    """

    name: str
    around: Surroundings
    folders: CatalogueFolders
    rules: StoreRules
    on_death: Callable[["ConfigNode"], None]
    edition: int = 1
    calls: deque[How] = attrs.field(factory=deque)
    commits: deque[How] = attrs.field(factory=deque)
    slowness_s: float = 0.0
    exported: Exported = NOTHING
    server: AppServer = attrs.field(factory=AppServer)
    clock: WallClock = attrs.field(factory=WallClock)
    process: Process = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        cut = partial(cut_off, self.around, self.name)
        self.process = Process(self.name, self._main, self._tap, cut, self.around.log.add, nothing, self._on_end)

    @property
    def life(self) -> str:
        """The name of the present life, or of the last one."""
        return f"{self.name}/{self.process.lives}"

    def read(self, body: bytes) -> Exported:
        """An export of this process, judged."""
        self.exported = self.rules.on_export(self.life, self.edition, body)
        return self.exported

    def _tap(self) -> Tap:
        return Tap(self._on_sent, on_late=self.around.late(self.process), on_lost=self.around.on_lost)

    def _on_sent(self, message: Message) -> None:
        self.around.on_sent(self.process, message)
        if message.subject.startswith("sie.config."):
            self.around.log.add(self.name, "tells", message.subject)
            self.rules.on_told(self.life, message)

    def _on_end(self) -> None:
        self.around.count_tasks(self.process)

    async def _main(self, life: Life) -> None:
        around = self.around
        settings = ConfigSettings(
            bundles_dir=self.folders.bundles_dir(self.edition),
            store_dir="double",
            restore=True,
            nats_url="nats://broker",
            pod_name=f"sie-{self.name}",
        )
        machine = machine_of(self.clock, around.machine_seed(self.process, life), life.stop)
        machine = Machine(machine.unix_s, machine.random, partial(self._work, life), machine.stop)
        open_bus = tapped(around.network.open_bus(self.name), life.tap)
        mount = WatchedMount(self, life, self.rules.disk.mount(partial(self._next_call, life)))
        try:
            await run(settings, World(machine, self.server.serve, open_bus, lambda _: mount, f"sie-{self.name}"))
        except* Died:
            around.log.add(self.name, "died")

    def _next_call(self, life: Life) -> How:
        """The dead call nobody; who dies now has said its last word."""
        how: How = "dies before" if life.tap.is_dead else self.calls.popleft() if self.calls else "well"
        if how in ("dies before", "dies after") and not life.tap.is_dead:
            life.tap.is_dead = True
            cut_off(self.around, self.name, life)
            life.scope.cancel()
            self.on_death(self)
        return how

    async def _work(self, life: Life, work: Callable[[], T], /) -> T:
        """As a thread does: what has begun is not cancelled, unless the whole process is gone."""
        await trio.lowlevel.checkpoint()
        with trio.CancelScope(shield=True):
            await trio.sleep(self.slowness_s)
        if life.tap.is_dead:
            raise Died
        return work()


@attrs.frozen
class WatchedMount:
    """The Backend of one life: the rules hear of each swap as it is made."""

    node: ConfigNode
    life: Life
    mount: Backend

    def read_versioned(self, name: str) -> Versioned | None:
        return self.mount.read_versioned(name)

    def read_folder(self, prefix: str) -> tuple[Named, ...]:
        return self.mount.read_folder(prefix)

    def compare_and_swap(self, name: str, text: str, version: str | None) -> str:
        if name == HEAD and self.node.commits:
            self.node.calls.appendleft(self.node.commits.popleft())
        try:
            return self.mount.compare_and_swap(name, text, version)
        finally:
            self.node.rules.history.look(f"{self.node.name}/{self.life.number}")
