"""Work that was given up, as it is kept for a day (§8, wire-facts 2.1): who said so, and the work itself.

The body is the broker's advisory as it came, which names no subject, with `subject`, `work_item_bytes` and `work_item`
(base64) beside it. A worker that gives an input up writes an advisory of its own kind.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from datetime import datetime

import attrs

from sie.domain.model import Json
from sie.wire.converters import TOLERANT, WireError, structure
from sie.wire.instants import read_instant
from sie.wire.json_value import as_json

GIVEN_UP = "sie.advisory.v1.given_up"
"""The `type` of what a worker says itself; the broker's is `io.nats.jetstream.advisory.v1.max_deliver`."""
OURS = ("subject", "work_item_bytes", "work_item")
_NAME = re.compile(r"[^\s.*>/\\\x00-\x1f\x7f]{1,255}")


@attrs.frozen(kw_only=True)
class Advisory:
    """`told` is the whole of it, as it was told."""

    stream: str
    consumer: str
    stream_seq: int
    deliveries: int
    at: datetime
    told: Mapping[str, Json]


@attrs.frozen(kw_only=True)
class DeadLetter:
    """`work` is the encoded work item; None where it is too large to lie beside the advisory, or was never there."""

    advisory: Advisory
    subject: str
    work_bytes: int
    work: bytes | None

    @property
    def message_id(self) -> str:
        """The same whoever writes it, so that the broker keeps one of them."""
        return f"{self.advisory.stream}:{self.advisory.consumer}:{self.advisory.stream_seq}"


@attrs.frozen(kw_only=True)
class _Told:
    stream: str
    consumer: str
    stream_seq: int
    deliveries: int
    timestamp: str


@attrs.frozen(kw_only=True)
class _Beside:
    subject: str = ""
    work_item_bytes: int = 0
    work_item: str | None = None


def dead_letter(advisory: Advisory, subject: str, work: bytes) -> DeadLetter:
    return DeadLetter(advisory=advisory, subject=subject, work_bytes=len(work), work=work)


def advisory_of(told: Mapping[str, Json]) -> Advisory:
    """Raises WireError."""
    found = structure(TOLERANT, told, _Told)
    for field, name in (("stream", found.stream), ("consumer", found.consumer)):
        if not _NAME.fullmatch(name):
            raise WireError.at(field, message=f"{name!r} is no name in JetStream")
    if found.stream_seq < 1:
        raise WireError.at("stream_seq", message="a sequence is at least 1")
    try:
        at = read_instant(found.timestamp)
    except ValueError as error:
        raise WireError.at("timestamp", message=str(error)) from error
    return Advisory(
        stream=found.stream,
        consumer=found.consumer,
        stream_seq=found.stream_seq,
        deliveries=found.deliveries,
        at=at,
        told=told,
    )


def decode_advisory(data: bytes) -> Advisory:
    """Raises WireError."""
    return advisory_of(_json_map(data))


def encode_dead_letter(letter: DeadLetter) -> bytes:
    work = {} if letter.work is None else {"work_item": base64.b64encode(letter.work).decode()}
    body = {**letter.advisory.told, "subject": letter.subject, "work_item_bytes": letter.work_bytes, **work}
    return json.dumps(body, separators=(",", ":")).encode()


def fitted(letter: DeadLetter, max_bytes: int) -> DeadLetter:
    """The letter without the work where both are too much for one message."""
    fits = letter.work is None or len(encode_dead_letter(letter)) <= max_bytes
    return letter if fits else attrs.evolve(letter, work=None)


def decode_dead_letter(data: bytes) -> DeadLetter:
    """An advisory with nothing beside it, as other gateways keep it, is read, too. Raises WireError."""
    body = _json_map(data)
    beside = structure(TOLERANT, body, _Beside)
    try:
        work = None if beside.work_item is None else base64.b64decode(beside.work_item, validate=True)
    except (binascii.Error, ValueError) as error:
        raise WireError.at("work_item", message=f"is no base64: {error}") from error
    advisory = advisory_of({key: value for key, value in body.items() if key not in OURS})
    return DeadLetter(advisory=advisory, subject=beside.subject, work_bytes=beside.work_item_bytes, work=work)


def _json_map(data: bytes) -> Mapping[str, Json]:
    try:
        body = as_json(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise WireError.at(message=f"no JSON: {error}") from error
    if not isinstance(body, Mapping):
        raise WireError.at(message="no JSON object")
    return body
