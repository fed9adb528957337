"""What does a worker tell the broker about a delivery it holds (§8.2)? Fire and forget: a lost word is a redelivery.

All of them raise what `publish_nowait` raises.
"""

from sie.bus.api import Publisher
from sie.bus.jetstream_api import Delivery, encode_nak


def ack(bus: Publisher, delivery: Delivery) -> None:
    """Done: a work-queue stream forgets the message."""
    bus.publish_nowait(delivery.ack_subject, b"+ACK")


def nak(bus: Publisher, delivery: Delivery, *, delay_s: float = 0.0) -> None:
    """Not now: deliver it again, to anybody, no sooner than in `delay_s`."""
    bus.publish_nowait(delivery.ack_subject, encode_nak(delay_s))


def in_progress(bus: Publisher, delivery: Delivery) -> None:
    """Still at it: the ack_wait starts anew."""
    bus.publish_nowait(delivery.ack_subject, b"+WPI")


def term(bus: Publisher, delivery: Delivery) -> None:
    """Never again, for anybody; a work-queue stream forgets the message."""
    bus.publish_nowait(delivery.ack_subject, b"+TERM")
