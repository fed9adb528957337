"""Results as they arrive in the router's inbox (§16.2): each is handed to the request it names, or dropped.

The subject names the request, so that a result nobody waits for any more is not even decoded.
"""

import logging

import attrs

from sie.bus.api import Message
from sie.domain.subjects import request_of_result
from sie.gateway.dispatch.pending import Pending
from sie.wire.converters import WireError
from sie.wire.result import decode_result

log = logging.getLogger(__name__)


@attrs.frozen
class Inbox:
    pending: Pending

    def receive(self, message: Message) -> None:
        request = request_of_result(message.subject)
        waiting = self.pending.find(request) if request else None
        if waiting is None:
            return
        try:
            waiting.receive(decode_result(message.data))
        except WireError as error:
            log.error("a result cannot be read", extra={"request_id": request, "error": str(error)})
