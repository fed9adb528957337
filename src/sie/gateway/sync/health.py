"""Hearing the workers (§8): every heartbeat goes into the fleet as it arrives, and whoever is there is asked for one.

Nothing that a message holds ends the subscription, and one that ends by itself is made again.
"""

import logging
from typing import NoReturn, Protocol

import attrs
import trio

from sie.bus.api import BusError, Message, Publisher, Sessions, Subscriber
from sie.domain.subjects import HEALTH_ALL, HEALTH_ASK
from sie.gateway.core.fleet import Fleet
from sie.runtime.retrying import Backoff
from sie.wire.converters import WireError
from sie.wire.heartbeat import decode_heartbeat

log = logging.getLogger(__name__)

BACKOFF = Backoff(initial_s=0.5, cap_s=15.0)
"""Before a subscription that ended is made again; one that lasted for longer than the cap begins anew."""


class HealthBus(Publisher, Subscriber, Sessions, Protocol):
    """What hearing workers needs of the bus."""


@attrs.frozen
class Heartbeats:
    fleet: Fleet

    def receive(self, message: Message) -> None:
        try:
            status = decode_heartbeat(message.data, subject=message.subject)
            self.fleet.observe(status, trio.current_time())
        except WireError as error:
            log.warning("a heartbeat cannot be read", extra={"subject": message.subject, "error": str(error)})
        except Exception:  # an error that left a handler would end the bus, and with it every request of this gateway
            log.exception("a heartbeat could not be taken", extra={"subject": message.subject})


async def hear_forever(bus: HealthBus, fleet: Fleet) -> NoReturn:
    delays_s = BACKOFF.delays()
    while True:
        began = trio.current_time()
        try:
            async with bus.subscribe(HEALTH_ALL, Heartbeats(fleet).receive):
                await ask_each_session_forever(bus)
        except BusError as error:
            log.warning("the workers cannot be heard", extra={"error": str(error)})
        if trio.current_time() - began > BACKOFF.cap_s:
            delays_s = BACKOFF.delays()
        await trio.sleep(next(delays_s))


async def ask_each_session_forever(bus: HealthBus) -> NoReturn:
    """A gateway that has just come would know of no worker until each one's next beat is due."""
    session = 0
    while True:
        session = await bus.wait_session(newer_than=session)
        try:
            bus.publish_nowait(HEALTH_ASK, b"")
        except BusError as error:
            log.warning("the workers cannot be asked for a heartbeat", extra={"error": str(error)})
