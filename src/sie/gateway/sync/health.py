"""Hearing the workers (§8): every heartbeat goes into the fleet as it arrives."""

import logging

import attrs
import trio

from sie.bus.api import Message
from sie.gateway.core.fleet import Fleet
from sie.wire.converters import WireError
from sie.wire.heartbeat import decode_heartbeat

log = logging.getLogger(__name__)


@attrs.frozen
class Heartbeats:
    fleet: Fleet

    def receive(self, message: Message) -> None:
        try:
            status = decode_heartbeat(message.data)
        except WireError as error:
            log.warning("a heartbeat cannot be read", extra={"subject": message.subject, "error": str(error)})
            return
        self.fleet.observe(status, trio.current_time())
