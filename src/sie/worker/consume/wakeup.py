"""Waking other tasks: a ring while one does not wait is kept, many rings are one. One waiter each."""

import attrs
import trio


class Wakeup:
    def __init__(self) -> None:
        self._rung = trio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        await self._rung.wait()
        self._rung = trio.Event()


@attrs.frozen
class Wakeups:
    """One ring for several waiters."""

    each: tuple[Wakeup, ...]

    def ring(self) -> None:
        for wakeup in self.each:
            wakeup.ring()
