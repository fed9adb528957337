"""The worker's heartbeat on `sie.health.{worker_id}` (§8): every 2 s, at once on a change or when somebody asks for it,
and one last goodbye.
"""

from collections.abc import Callable
from typing import NoReturn, Protocol

import trio

from sie.bus.api import BusError, Publisher, Sessions, Subscriber
from sie.domain.subjects import HEALTH_ASK, health_subject
from sie.domain.worker import HEARTBEAT_INTERVAL_S, WorkerStatus
from sie.wire.heartbeat import encode_heartbeat

GAP_S = 0.05
"""A load reports many small steps; gateways need not hear of each."""


class HealthBus(Publisher, Sessions, Subscriber, Protocol):
    """What a heartbeat needs of the bus."""


class Heart:
    """`status` is asked, told whether there is a connection, at each beat."""

    def __init__(self, bus: HealthBus, status: Callable[[bool], WorkerStatus]) -> None:
        self._bus = bus
        self._status = status
        self._changed = trio.Event()

    def beat_soon(self) -> None:
        self._changed.set()

    def beat(self) -> None:
        """One heartbeat; without a connection nobody is there to hear it."""
        if not self._bus.session:
            return
        status = self._status(True)
        try:
            self._bus.publish_nowait(health_subject(status.worker), encode_heartbeat(status))
        except BusError:
            return  # the next one tells the same

    async def beat_forever(self) -> NoReturn:
        while True:
            self._changed = trio.Event()
            self.beat()
            await trio.sleep(GAP_S)
            with trio.move_on_after(HEARTBEAT_INTERVAL_S - GAP_S):
                await self._changed.wait()

    async def greet_sessions_forever(self) -> NoReturn:
        """Gateways on the other side of a new connection hear of this worker at once, and so do those that ask."""
        session = 0
        async with self._bus.subscribe(HEALTH_ASK, lambda _: self.beat_soon()):
            while True:
                session = await self._bus.wait_session(newer_than=session)
                self.beat_soon()
