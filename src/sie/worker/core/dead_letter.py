"""What is kept of an input that this worker gives up (§8, decisions)? The letter that the broker's advisory would make.

`consume.burial` files it before the ack, after which the broker forgets the message.
"""

from collections.abc import Mapping

from sie.bus.jetstream_api import ConsumerSpec, Delivery
from sie.domain.ids import WorkerId
from sie.domain.model import Json
from sie.wire.dead_letter import GIVEN_UP, DeadLetter, advisory_of, dead_letter
from sie.wire.instants import write_instant
from sie.worker.core.flights import GivenUp


def letter_of(
    delivery: Delivery, consumer: ConsumerSpec, worker: WorkerId, given_up: GivenUp, *, now_s: float
) -> DeadLetter:
    """`now_s` is unix time. Of one message the id is that of the broker's own advisory: there is one letter of it."""
    told: Mapping[str, Json] = {
        "type": GIVEN_UP,
        "id": f"{worker}.{delivery.stream_seq}.{delivery.deliveries}",
        "timestamp": write_instant(now_s),
        "stream": consumer.stream,
        "consumer": consumer.name,
        "stream_seq": delivery.stream_seq,
        "deliveries": delivery.deliveries,
        "worker": worker,
        "error_code": given_up.error_code,
        "error": given_up.error,
    }
    return dead_letter(advisory_of(told), delivery.subject, delivery.data)
