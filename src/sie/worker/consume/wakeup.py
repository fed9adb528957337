"""Waking another task: a ring while it does not wait is kept, many rings are one. One waiter each."""

import trio


class Wakeup:
    def __init__(self) -> None:
        self._rung = trio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        await self._rung.wait()
        self._rung = trio.Event()
