"""How does one task wait for another, again and again, up to a time? Most waits have none, and then cost no scope."""

from math import inf

import attrs
import trio


@attrs.define(eq=False)
class Wake:
    """Set while nobody waits, it ends the next wait at once."""

    _event: trio.Event = attrs.field(factory=trio.Event, init=False)

    def set(self) -> None:
        self._event.set()

    async def wait_until(self, due_s: float) -> None:
        if due_s == inf:
            await self._event.wait()
        else:
            with trio.move_on_at(due_s):
                await self._event.wait()
        if self._event.is_set():
            self._event = trio.Event()
