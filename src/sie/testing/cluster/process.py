"""One process of a simulated cluster: it runs, is asked to stop, is killed, and is started again."""

from collections.abc import Awaitable, Callable

import attrs
import trio

from sie.testing.cluster.tapped import Tap


@attrs.define(eq=False)
class Life:
    """From a start of the process to its end; `number` counts from 1."""

    number: int
    tap: Tap
    has_begun: bool = False
    stop: trio.Event = attrs.field(factory=trio.Event)
    ended: trio.Event = attrs.field(factory=trio.Event)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)


@attrs.define(eq=False)
class Process:
    """`main` runs one life; `on_kill` takes its connection away before it can say anything more.

    `on_leave` is called as a life begins to end, `on_end` after one that ended in order.
    """

    name: str
    main: Callable[[Life], Awaitable[None]]
    new_tap: Callable[[], Tap]
    on_kill: Callable[[Life], None]
    tell: Callable[[str, str], None]
    on_leave: Callable[[], None]
    on_end: Callable[[], None]
    life: Life | None = None
    lives: int = 0

    @property
    def runs(self) -> bool:
        """It has begun, and nobody has asked it to stop."""
        return self.life is not None and self.life.has_begun and not self.life.stop.is_set()

    def start(self, nursery: trio.Nursery) -> None:
        assert self.life is None, f"{self.name} runs already"
        self.lives += 1
        self.life = Life(self.lives, self.new_tap())
        nursery.start_soon(self._run, self.life)

    async def kill(self) -> None:
        """Nothing that it would still do on its way out is seen by anybody."""
        if (life := self.life) is not None:
            self.tell(self.name, "killed")
            self.on_leave()
            life.tap.is_dead = True
            self.on_kill(life)
            life.scope.cancel()
            await life.ended.wait()

    async def stop(self) -> None:
        if (life := self.life) is not None:
            self.tell(self.name, "asked to stop")
            self.on_leave()
            life.stop.set()
            await life.ended.wait()

    async def _run(self, life: Life) -> None:
        self.tell(self.name, "starts")
        life.has_begun = True
        try:
            with life.scope:
                await self.main(life)
            if not life.tap.is_dead:
                life.tap.is_over = True
                self.on_end()
        finally:
            self.tell(self.name, "ended")
            self.life = None
            life.ended.set()
