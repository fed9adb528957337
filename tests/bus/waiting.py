"""How do the bus tests wait for what another process does?"""

from collections.abc import Callable

import pytest
import trio

from sie.bus.api import Bus, NoResponders
from sie.bus.request import request

CEILING_S = 15.0


async def until(condition: Callable[[], bool]) -> None:
    """The caller's scope is the bound."""
    while not condition():  # noqa: ASYNC110 - what changes it is no task of ours
        await trio.sleep(0.01)


async def settle(bus: Bus) -> None:
    """After a round trip the broker has seen all that was sent before, and answered what it would."""
    with pytest.raises(NoResponders):
        await request(bus, "nobody.listens", b"", timeout_s=5)
