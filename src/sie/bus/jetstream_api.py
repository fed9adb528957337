"""What do JetStream's JSON messages mean (§8.2)? Settings, acks and their codec, pure; `sie.bus.jetstream` sends them.

Field names and units (durations in nanoseconds) are nats-server's, 2.15. Keys we do not know pass through untouched.
"""

import json
import re
from collections.abc import Mapping
from typing import Literal

import attrs
import msgspec

from sie.bus.api import BusError, Message

Json = Mapping[str, object]
Retention = Literal["workqueue", "limits"]
Storage = Literal["memory", "file"]
Discard = Literal["new", "old"]

NS_PER_S = 1_000_000_000

STREAM_NOT_FOUND = 10059
CONSUMER_NOT_FOUND = 10014
STREAM_NAME_IN_USE = 10058
CONSUMER_ALREADY_EXISTS = 10148
MAXIMUM_MESSAGES_EXCEEDED = 10077
NOT_FOUND = frozenset({STREAM_NOT_FOUND, CONSUMER_NOT_FOUND})
ALREADY_THERE = frozenset({STREAM_NAME_IN_USE, CONSUMER_ALREADY_EXISTS})

NO_RESPONDERS = "503"
_USUAL_ACK = re.compile(rb'\{"stream":"([A-Za-z0-9_-]+)", ?"seq":([0-9]{1,18})\}')
"""As the server writes it; any other is read as JSON."""


class ApiError(BusError):
    """JetStream refused a call; `err_code` says which rule, `code` is its HTTP-like class."""

    def __init__(self, code: int, err_code: int, description: str) -> None:
        super().__init__(f"{description} (code {code}, err_code {err_code})")
        self.code = code
        self.err_code = err_code
        self.description = description


@attrs.frozen
class StreamSpec:
    """A stream as we want it; `duplicate_window_s` None leaves the window to the server (120 s, at most max_age).
    `more` are settings by the server's own names.
    """

    name: str
    subjects: tuple[str, ...]
    retention: Retention
    storage: Storage
    replicas: int
    max_age_s: float
    max_msgs: int
    discard: Discard
    duplicate_window_s: float | None = None
    more: Json = attrs.field(factory=dict)


@attrs.frozen
class ConsumerSpec:
    """A durable pull consumer with explicit acks."""

    stream: str
    name: str
    filter_subject: str
    ack_wait_s: float = 30.0
    max_deliver: int = 20
    max_ack_pending: int = 1000


@attrs.frozen
class Mismatch:
    """A setting that differs and is left alone."""

    setting: str
    wanted: str
    found: str


@attrs.frozen
class Ensured:
    """What ensuring did. `changed` names the settings repaired, `mismatches` those that only an operator can repair."""

    name: str
    action: Literal["created", "updated", "unchanged"]
    changed: tuple[str, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()


class PubAck(msgspec.Struct, frozen=True):
    """The stream holds the message. `duplicate`: it held one with this Nats-Msg-Id already."""

    stream: str
    seq: int
    duplicate: bool = False


@attrs.frozen
class PubRefused:
    """No stream holds the message: none takes the subject, it is full, or the server gives another reason."""

    reason: Literal["no_stream", "stream_full", "refused", "garbled"]
    err_code: int = 0
    description: str = ""


@attrs.frozen
class Delivery:
    """A message lent by a consumer until its ack_wait ends. `deliveries` from 1, `pending` waits behind it."""

    subject: str
    data: bytes
    headers: Mapping[str, str]
    ack_subject: str
    stream_seq: int
    deliveries: int
    pending: int


def to_ns(seconds: float) -> int:
    return round(seconds * NS_PER_S)


def encode_stream(spec: StreamSpec) -> Json:
    config: dict[str, object] = {
        "name": spec.name,
        "subjects": list(spec.subjects),
        "retention": spec.retention,
        "storage": spec.storage,
        "num_replicas": spec.replicas,
        "max_age": to_ns(spec.max_age_s),
        "max_msgs": spec.max_msgs,
        "discard": spec.discard,
        **spec.more,
    }
    if spec.duplicate_window_s is not None:
        config["duplicate_window"] = to_ns(spec.duplicate_window_s)
    return config


def encode_consumer(spec: ConsumerSpec) -> Json:
    return {
        "name": spec.name,
        "durable_name": spec.name,
        "filter_subject": spec.filter_subject,
        "deliver_policy": "all",
        "replay_policy": "instant",
        "ack_policy": "explicit",
        "ack_wait": to_ns(spec.ack_wait_s),
        "max_deliver": spec.max_deliver,
        "max_ack_pending": spec.max_ack_pending,
    }


def decode_answer(message: Message) -> Json:
    """The body of an API answer. Raises ApiError when it holds an error, or is no answer at all."""
    body = _load(message.data)
    if body is None:
        raise ApiError(500, 0, f"no JSON object on {message.subject}")
    error = body.get("error")
    if isinstance(error, Mapping):
        raise ApiError(_int(error, "code"), _int(error, "err_code"), _str(error, "description"))
    return body


def answer_config(answer: Json) -> Json:
    """The stream or consumer settings in an answer. Raises ApiError when there are none."""
    config = answer.get("config")
    if not isinstance(config, Mapping):
        raise ApiError(500, 0, "answer without config")
    return config


def decode_pub_ack(message: Message) -> PubAck | PubRefused:
    """The answer to a publish with a reply subject."""
    usual = _USUAL_ACK.fullmatch(message.data)
    if usual is not None and not message.headers:
        return PubAck(usual[1].decode(), int(usual[2]))
    if message.status == NO_RESPONDERS:
        return PubRefused("no_stream", description="no stream takes the subject")
    body = _load(message.data)
    if body is None:
        return PubRefused("garbled", description=f"no JSON object, status {message.status!r}")
    error = body.get("error")
    if isinstance(error, Mapping):
        err_code = _int(error, "err_code")
        full = err_code == MAXIMUM_MESSAGES_EXCEEDED
        return PubRefused("stream_full" if full else "refused", err_code, _str(error, "description"))
    stream = _str(body, "stream")
    if not stream:
        return PubRefused("garbled", description="ack without a stream")
    return PubAck(stream, _int(body, "seq"), body.get("duplicate") is True)


def decode_delivery(message: Message) -> Delivery | None:
    """A message that a consumer delivered, None for one that carries no ack subject (a pull's status).

    The subject: `$JS.ACK.{stream}.{consumer}.{deliveries}.{stream_seq}.{consumer_seq}.{time}.{pending}`; newer servers
    put `{domain}.{account}` before the stream, and may put one token more at the end.
    """
    tokens = message.reply.split(".")
    if tokens[:2] != ["$JS", "ACK"] or len(tokens) not in (9, 11, 12):
        return None
    place = tokens[2:] if len(tokens) == 9 else tokens[4:]
    deliveries, stream_seq, pending = place[2], place[3], place[6]
    if not (deliveries.isdecimal() and stream_seq.isdecimal() and pending.isdecimal()):
        return None
    return Delivery(
        message.subject,
        message.data,
        message.headers,
        ack_subject=message.reply,
        stream_seq=int(stream_seq),
        deliveries=int(deliveries),
        pending=int(pending),
    )


def encode_nak(delay_s: float) -> bytes:
    return b"-NAK" if delay_s <= 0 else b'-NAK {"delay": %d}' % to_ns(delay_s)


def encode_pull(batch: int, expires_s: float) -> bytes:
    return encode_json({"batch": batch, "expires": to_ns(expires_s)})


def encode_json(body: Json) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _load(data: bytes) -> Json | None:
    try:
        body: object = json.loads(data)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _int(body: Json, key: str) -> int:
    value = body.get(key)
    return value if isinstance(value, int) else 0


def _str(body: Json, key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""
