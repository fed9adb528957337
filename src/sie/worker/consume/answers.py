"""What is said about a delivery: its result to the gateway, then its ack to the broker, in this order (§16.2).

Where the result cannot be sent there is no ack, and the broker delivers the work again; a gateway drops the second
result of an item. Everything here is a publish, so nothing waits.
"""

import logging
from collections.abc import Callable
from functools import partial

import attrs

from sie.bus.api import BusError, Publisher
from sie.bus.jetstream import Delivery, ack, in_progress, nak, term
from sie.wire.result import WorkResult
from sie.worker.core.chunking import messages_of

log = logging.getLogger(__name__)


@attrs.frozen
class Answers:
    bus: Publisher

    def answer(self, delivery: Delivery, reply_subject: str, result: WorkResult) -> None:
        if self.publish(reply_subject, result):
            self.done(delivery)

    def publish(self, reply_subject: str, result: WorkResult, *, accepts_chunks: bool = False) -> bool:
        """False: it could not be sent. Of several chunks some may have been; those of its next run replace them."""
        try:
            for message in messages_of(result, max_payload=self.bus.max_payload, accepts_chunks=accepts_chunks):
                self.bus.publish_nowait(reply_subject, message)
        except BusError as error:
            facts = {"item": result.work_item_id, "error": str(error)}
            log.warning("a result could not be sent, its work will come again", extra=facts)
            return False
        return True

    def done(self, delivery: Delivery) -> None:
        self._tell("ack", ack, delivery)

    def give_back(self, delivery: Delivery, *, delay_s: float = 0.0) -> None:
        self._tell("nak", partial(nak, delay_s=delay_s), delivery)

    def discard(self, delivery: Delivery) -> None:
        """For a message that nobody could ever work on."""
        self._tell("term", term, delivery)

    def renew(self, delivery: Delivery) -> None:
        self._tell("in progress", in_progress, delivery)

    def _tell(self, word: str, say: Callable[[Publisher, Delivery], None], delivery: Delivery) -> None:
        """A word that is lost costs a redelivery, no more."""
        try:
            say(self.bus, delivery)
        except BusError as error:
            facts = {"word": word, "stream_seq": delivery.stream_seq, "error": str(error)}
            log.info("the broker could not be told of a delivery", extra=facts)
