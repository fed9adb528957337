"""Results as they arrive in the router's inbox (§16.2): each is handed to the request it names, or dropped.

The subject names the request, so that a result nobody waits for any more is not even decoded. All of this is one
synchronous stage in the order of arrival: a request's messages cannot overtake each other, and what is not taken yet
waits in the connection.
"""

import logging

import attrs

from sie.bus.api import Message
from sie.domain.subjects import request_of_result
from sie.gateway.dispatch.pending import Pending
from sie.wire.converters import WireError
from sie.wire.result_chunk import ChunkError, decode_reply

log = logging.getLogger(__name__)


@attrs.frozen
class Inbox:
    pending: Pending

    def receive(self, message: Message) -> None:
        request = request_of_result(message.subject)
        waiting = self.pending.find(request) if request else None
        if waiting is None:
            self.pending.late += 1
            return
        try:
            waiting.receive(decode_reply(message.data))
        except ChunkError as error:
            log.error("a chunk of a result breaks a rule", extra={"request_id": request, "error": str(error)})
            waiting.spoil()
        except WireError as error:
            self.pending.garbled += 1
            log.error("a result cannot be read", extra={"request_id": request, "error": str(error)})
