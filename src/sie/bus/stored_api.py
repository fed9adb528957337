"""What does JetStream say of one stored message? Pure; `sie.bus.stored` asks."""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime

import attrs

from sie.bus.jetstream_api import ApiError, Json
from sie.wire.instants import read_instant

NO_MESSAGE_FOUND = 10037


@attrs.frozen
class Stored:
    """A message as it lies in its stream; `at` is when it came there."""

    seq: int
    subject: str
    data: bytes
    at: datetime


@attrs.frozen
class Span:
    """The first and the last sequence of a stream; `first` is above `last` while it is empty."""

    first: int
    last: int


def decode_stored(answer: Json) -> Stored:
    """Raises ApiError on what is no stored message."""
    match answer.get("message"):
        case {"seq": int(seq), "subject": str(subject), "time": str(time), **more}:
            return Stored(seq, subject, _data(more.get("data")), _instant(time))
        case _:
            raise ApiError(500, 0, "answer without a message")


def decode_span(info: Json) -> Span:
    """Raises ApiError on what is no stream's information."""
    state = info.get("state")
    first, last = (state.get(key) if isinstance(state, Mapping) else None for key in ("first_seq", "last_seq"))
    if not isinstance(first, int) or not isinstance(last, int):
        raise ApiError(500, 0, "information on a stream without its sequences")
    return Span(max(first, 1), last)


def _data(text: object) -> bytes:
    """What is empty is left out of an answer."""
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError) as error:
        raise ApiError(500, 0, f"a stored message is no base64: {error}") from error


def _instant(text: str) -> datetime:
    try:
        return read_instant(text)
    except ValueError as error:
        raise ApiError(500, 0, f"a stored message of no time: {error}") from error
