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
    stop: trio.Event = attrs.field(factory=trio.Event)
    ended: trio.Event = attrs.field(factory=trio.Event)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)


@attrs.define(eq=False)
class Process:
    """`main` runs one life; `on_kill` takes its connection away before it can say anything more."""

    name: str
    main: Callable[[Life], Awaitable[None]]
    new_tap: Callable[[], Tap]
    on_kill: Callable[[Life], None]
    tell: Callable[[str, str], None]
    life: Life | None = None
    lives: int = 0

    def start(self, nursery: trio.Nursery) -> None:
        assert self.life is None, f"{self.name} runs already"
        self.lives += 1
        self.life = Life(self.lives, self.new_tap())
        nursery.start_soon(self._run, self.life)

    async def kill(self) -> None:
        """Nothing that it would still do on its way out is seen by anybody."""
        if (life := self.life) is not None:
            self.tell(self.name, "killed")
            life.tap.is_dead = True
            self.on_kill(life)
            life.scope.cancel()
            await life.ended.wait()

    async def stop(self) -> None:
        if (life := self.life) is not None:
            self.tell(self.name, "asked to stop")
            life.stop.set()
            await life.ended.wait()

    async def _run(self, life: Life) -> None:
        self.tell(self.name, "starts")
        try:
            with life.scope:
                await self.main(life)
        finally:
            self.tell(self.name, "ended")
            self.life = None
            life.ended.set()
