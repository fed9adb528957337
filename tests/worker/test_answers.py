"""A result is sent before its delivery is acknowledged, in as many messages as it takes (§16.2)."""

from collections.abc import Mapping

import attrs
import pytest

from sie.bus.api import NO_HEADERS, OutboxFull
from sie.gateway.core.chunks import ChunkMemory, RequestChunks
from sie.wire.result import WorkResult
from sie.wire.result_chunk import ResultChunk, decode_reply
from sie.worker.consume.answers import Answers
from tests.worker.doubles import REPLY, ScriptedBus, delivery, work

MAX_PAYLOAD = 1500
RESULT = WorkResult(
    work_item_id="r1.0", request_id="r1", item_index=0, success=True, result_msgpack=b"x" * 5 * MAX_PAYLOAD
)


@attrs.define(eq=False)
class NarrowBus(ScriptedBus):
    """Its outbox takes so many messages."""

    takes: int = 100

    def publish_nowait(
        self, subject: str, data: bytes, *, reply: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        if len(self.published) == self.takes:
            raise OutboxFull("no more")
        super().publish_nowait(subject, data, reply=reply, headers=headers)


def send(bus: ScriptedBus, *, accepts_chunks: bool) -> None:
    answers = Answers(bus)
    if answers.publish(REPLY, RESULT, accepts_chunks=accepts_chunks):
        answers.done(delivery(work()))


def test_a_result_in_chunks_is_sent_whole_before_its_ack() -> None:
    bus = ScriptedBus(max_payload=MAX_PAYLOAD)
    send(bus, accepts_chunks=True)
    *chunks, ack = bus.published
    assert ack.data == b"+ACK"
    assert {message.subject for message in chunks} == {REPLY}
    request = RequestChunks("r1", 1, ChunkMemory())
    replies = [decode_reply(message.data) for message in chunks]
    received = [request.receive(reply) for reply in replies if isinstance(reply, ResultChunk)]
    assert received == [None] * (len(chunks) - 1) + [RESULT]


@pytest.mark.parametrize("takes", [0, 1, 3])
def test_a_transfer_that_breaks_off_is_not_acked(takes: int) -> None:
    bus = NarrowBus(max_payload=MAX_PAYLOAD, takes=takes)
    send(bus, accepts_chunks=True)
    assert [message.subject for message in bus.published] == [REPLY] * takes


def test_a_gateway_that_takes_no_chunks_gets_a_typed_error() -> None:
    bus = ScriptedBus(max_payload=MAX_PAYLOAD)
    send(bus, accepts_chunks=False)
    (result,) = bus.results()
    assert (result.success, result.error_code) == (False, "PAYLOAD_TOO_LARGE")
    assert bus.words() == [(1, b"+ACK")]
