"""A worker and its child understand each other however the socket cuts their bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.model import Json
from sie.testing import message_strategies, strategies
from sie.wire import ipc
from sie.wire.codec import pack, unpack
from sie.wire.converters import WireError

MESSAGES = message_strategies.ipc_requests | message_strategies.ipc_answers
PREFIX = 4


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(PREFIX, "big") + body


@given(st.lists(MESSAGES, max_size=3), st.data())
def test_messages_come_out_whole_and_in_order_at_any_split_of_the_bytes(
    messages: list[ipc.Request | ipc.Answer], data: st.DataObject
) -> None:
    stream = b"".join(map(ipc.frame, messages))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    reader = ipc.FrameReader()
    received = [
        message
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
        for message in reader.receive(stream[start:end])
    ]
    assert received == messages


@given(MESSAGES)
def test_a_message_comes_out_with_its_last_byte(message: ipc.Request | ipc.Answer) -> None:
    reader = ipc.FrameReader()
    *first, last = (bytes([byte]) for byte in ipc.frame(message))
    assert not any(map(reader.receive, first))
    assert reader.receive(last) == [message]


@given(MESSAGES, strategies.json_maps)
def test_the_keys_of_a_newer_peer_are_tolerated(message: ipc.Request | ipc.Answer, more: dict[str, object]) -> None:
    body = unpack(ipc.frame(message)[PREFIX:])
    assert isinstance(body, dict)
    newer = {**{f"new_{key}": value for key, value in more.items()}, **body}
    assert ipc.FrameReader().receive(framed(pack(newer))) == [message]


@given(strategies.json_values | strategies.json_maps.map(lambda rest: {**rest, "kind": "Nonsense"}))
def test_a_frame_that_is_no_message_is_refused(value: Json) -> None:
    with pytest.raises(WireError, match="is no message of this protocol"):
        ipc.FrameReader().receive(framed(pack(value)))


@given(st.integers(ipc.MAX_FRAME_BYTES + 1, 2**32 - 1))
def test_a_frame_that_is_too_long_is_refused_before_its_body_comes(size: int) -> None:
    with pytest.raises(WireError, match=f"a frame of {size} bytes exceeds"):
        ipc.FrameReader().receive(size.to_bytes(PREFIX, "big"))
