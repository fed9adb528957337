"""Handing a request's work to the broker (§8.2): one message an item, submitted without waiting for the acks.

Each ack counts towards the request's own waiting; a refused publish ends the request at once.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias, assert_never

import attrs

from sie.bus.api import Bus, BusError, Message
from sie.bus.jetstream import PubAck, PubRefused, StreamSpec, decode_pub_ack
from sie.domain.errors import ErrorCode
from sie.domain.ids import ModelId
from sie.domain.lane import Lane
from sie.domain.subjects import work_subject
from sie.gateway.dispatch.pending import Waiting
from sie.gateway.dispatch.streams import Streams
from sie.wire.work import WorkItem, encode_work

ACK_DEADLINE_S = 6.0
"""All acks of one request (§8.2)."""
HEADER_ROOM_BYTES = 256
"""What the broker counts beside the payload: our own headers are shorter."""


@attrs.frozen
class Submitted:
    """Everything is on its way to the broker."""


@attrs.frozen
class TooLarge:
    """An item cannot be sent, so nothing was."""

    item_index: int
    size_bytes: int
    max_bytes: int


@attrs.frozen
class Unavailable:
    reason: str


Submission: TypeAlias = Submitted | TooLarge | Unavailable


@attrs.frozen
class Publisher:
    bus: Bus
    streams: Streams

    @contextmanager
    def listening(self, waiting: Waiting, stream: StreamSpec) -> Iterator[str]:
        """A reply subject whose acks count for this request, for as long as the request lives."""

        def on_ack(message: Message) -> None:
            match decode_pub_ack(message):
                case PubAck():
                    waiting.acknowledge()
                case PubRefused() as refused:
                    self._refuse(waiting, stream, refused)
                case other:
                    assert_never(other)

        correlation = self.bus.correlate(on_ack)
        try:
            yield correlation.subject
        finally:
            correlation.forget()

    async def submit(
        self, waiting: Waiting, lane: Lane, stream: StreamSpec, items: Sequence[WorkItem], ack_subject: str
    ) -> Submission:
        messages = [_message(lane, item) for item in items]
        max_bytes = self.bus.max_payload - HEADER_ROOM_BYTES
        for index, message in enumerate(messages):
            if len(message.data) > max_bytes:
                return TooLarge(index, len(message.data), max_bytes)
        try:
            await self.streams.ensure(stream)
            waiting.expect_acks(len(messages))
            for message in messages:
                self.bus.publish_nowait(message.subject, message.data, reply=ack_subject, headers=message.headers)
        except BusError as error:
            return Unavailable(str(error) or type(error).__name__)
        return Submitted()

    def _refuse(self, waiting: Waiting, stream: StreamSpec, refused: PubRefused) -> None:
        if refused.reason == "no_stream":
            self.streams.forget(stream.name)
        code = ErrorCode.QUEUE_FULL if refused.reason == "stream_full" else ErrorCode.QUEUE_UNAVAILABLE
        waiting.give_up(code, f"the broker did not take the work: {refused.description or refused.reason}")


def _message(lane: Lane, item: WorkItem) -> Message:
    subject = work_subject(lane, ModelId(item.model_id))
    return Message(subject, encode_work(item), headers={"Nats-Msg-Id": item.work_item_id})
