"""How does a NATS key-value bucket lie in a stream? Settings, entries and markers as every NATS client has them. Pure.

The stream `KV_{bucket}` holds the last message of each `$KV.{bucket}.{key}`; its sequence is the entry's revision. What
was deleted is a message too, a marker. `sie.bus.key_value` sends and asks.
"""

import base64
import re
from collections.abc import Mapping

import attrs

from sie.bus.jetstream_api import ApiError, Delivery, Json, StreamSpec, to_ns

NO_MESSAGE_FOUND = 10037
WRONG_REVISION = frozenset({10071, 10164})
"""Err codes of a write whose expected last sequence is not the subject's."""

EXPECTED_REVISION = "Nats-Expected-Last-Subject-Sequence"
OPERATION = "KV-Operation"
DELETED = "DEL"
MARKERS = frozenset({DELETED, "PURGE"})
SERVERS_MARKER = "Nats-Marker-Reason"
"""On a marker that the server put in the place of what ended."""
TIME_TO_LIVE = "Nats-TTL"

HEARTBEAT_S = 1.0

_BUCKET = re.compile(r"[A-Za-z0-9_-]{1,128}")


@attrs.frozen
class Entry:
    """The last word on a key. `value` None: it was deleted."""

    key: str
    revision: int
    value: bytes | None


@attrs.frozen
class BucketState:
    """`created` tells a bucket from another that took its name. `markers_fade`: a deletion's may be given a time to
    live, and nothing older shows once it is over.
    """

    created: str
    last_revision: int
    markers_fade: bool


def check_bucket(bucket: str) -> None:
    """Raises ValueError."""
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"a bucket's name must be 1 to 128 letters, digits, '_' or '-', not {bucket!r}")


def bucket_stream(bucket: str) -> str:
    return f"KV_{bucket}"


def key_subject(bucket: str, key: str) -> str:
    return f"$KV.{bucket}.{key}"


def bucket_spec(bucket: str, *, replicas: int) -> StreamSpec:
    """On disk always; what nats-py and the `nats` command give a bucket."""
    return StreamSpec(
        name=bucket_stream(bucket),
        subjects=(key_subject(bucket, ">"),),
        retention="limits",
        storage="file",
        replicas=replicas,
        max_age_s=0,
        max_msgs=-1,
        discard="new",
        more={
            "max_msgs_per_subject": 1,
            "allow_direct": True,
            "allow_rollup_hdrs": True,
            "deny_delete": True,
            "allow_msg_ttl": True,
        },
    )


def encode_read(bucket: str, key: str) -> Json:
    return {"last_by_subj": key_subject(bucket, key)}


def encode_watch(bucket: str, deliver_subject: str) -> Json:
    """An ephemeral consumer: the last entry of each key, then every change, and a word every HEARTBEAT_S where there is
    none. It goes when nobody listens.
    """
    config = {
        "deliver_subject": deliver_subject,
        "deliver_policy": "last_per_subject",
        "filter_subject": key_subject(bucket, ">"),
        "ack_policy": "none",
        "max_deliver": 1,
        "idle_heartbeat": to_ns(HEARTBEAT_S),
        "mem_storage": True,
        "num_replicas": 1,
    }
    return {"stream_name": bucket_stream(bucket), "config": config}


def write_headers(over: int) -> Mapping[str, str]:
    """`over` is the revision that the write replaces, 0 for a key that has none."""
    return {EXPECTED_REVISION: str(over)}


def delete_headers(over: int, *, fades_s: int | None) -> Mapping[str, str]:
    fading = {} if fades_s is None else {TIME_TO_LIVE: f"{fades_s}s"}
    return {**write_headers(over), OPERATION: DELETED, **fading}


def decode_state(info: Json) -> BucketState:
    """Raises ApiError on what is no stream's information."""
    created, state, config = info.get("created"), info.get("state"), info.get("config")
    if not isinstance(created, str) or not isinstance(state, Mapping) or not isinstance(config, Mapping):
        raise ApiError(500, 0, "no information on a stream")
    last, fades = state.get("last_seq"), config.get("allow_msg_ttl") is True
    if not isinstance(last, int):
        raise ApiError(500, 0, "information on a stream without its last sequence")
    return BucketState(created, last, fades and config.get("max_msgs_per_subject") == 1)


def decode_entry(key: str, answer: Json) -> Entry:
    """Raises ApiError on what is no stored message."""
    message = answer.get("message")
    if not isinstance(message, Mapping) or not isinstance(revision := message.get("seq"), int):
        raise ApiError(500, 0, f"no stored message of {key}")
    try:
        headers = _headers(_decoded(message.get("hdrs")))
        value = _decoded(message.get("data"))
    except ValueError as error:
        raise ApiError(500, 0, f"a stored message of {key} is no base64: {error}") from error
    return Entry(key, revision, None if _is_marker(headers) else value)


def entry_of(bucket: str, delivery: Delivery) -> Entry:
    key = delivery.subject.removeprefix(key_subject(bucket, ""))
    return Entry(key, delivery.stream_seq, None if _is_marker(delivery.headers) else delivery.data)


def _is_marker(headers: Mapping[str, str]) -> bool:
    return headers.get(OPERATION) in MARKERS or SERVERS_MARKER in headers


def _decoded(text: object) -> bytes:
    """What is empty is left out of an answer."""
    return base64.b64decode(text, validate=True) if isinstance(text, str) else b""


def _headers(block: bytes) -> Mapping[str, str]:
    """The lines behind `NATS/1.0`."""
    lines = (line.partition(":") for line in block.decode("utf-8", "replace").split("\r\n")[1:])
    return {name: value.strip() for name, colon, value in lines if colon}
