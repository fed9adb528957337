"""A bell between two tasks: a ring while nobody listens is kept, many rings are one. One listener a bell."""

import trio


class Bell:
    def __init__(self) -> None:
        self._rung = trio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        await self._rung.wait()
        self._rung = trio.Event()
