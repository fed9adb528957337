"""What may a stream or a consumer be told to be? Settings as nats-server 2.15 reads, checks and prints them. Pure.

Raises Refused with the server's own words, and NotModelled on settings that this model has no rules for.
"""

from collections.abc import Mapping
from itertools import pairwise

import attrs

from sie.bus.jetstream_api import NS_PER_S, Json

DUPLICATE_WINDOW_NS = 120 * NS_PER_S
MIN_AGE_NS = NS_PER_S // 10
ACK_WAIT_NS = 30 * NS_PER_S
MAX_ACK_PENDING = 1000
MAX_WAITING = 512
METADATA = {"_nats.level": "5", "_nats.req.level": "0", "_nats.ver": "2.15.1"}
# What the server prints besides, always so here: another value in a request is NotModelled.
FIXED_STREAM: Json = {
    "max_consumers": -1,
    "max_bytes": -1,
    "max_msgs_per_subject": -1,
    "max_msg_size": -1,
    "compression": "none",
    "allow_direct": False,
    "mirror_direct": False,
    "sealed": False,
    "deny_delete": False,
    "deny_purge": False,
    "allow_rollup_hdrs": False,
    "consumer_limits": {},
    "allow_msg_ttl": False,
}
FIXED_CONSUMER: Json = {"deliver_policy": "all", "replay_policy": "instant", "max_waiting": MAX_WAITING}


class NotModelled(Exception):
    """The request is outside of what this model knows; the real server may well take it."""


class Refused(Exception):
    """The server's error: `code` is its HTTP-like class, `err_code` says which rule."""

    def __init__(self, code: int, err_code: int, description: str) -> None:
        super().__init__(description)
        self.error: Json = {"code": code, "err_code": err_code, "description": description}


@attrs.frozen
class StreamConfig:
    name: str
    subjects: tuple[str, ...]
    retention: str
    storage: str
    max_msgs: int
    max_age_ns: int
    discard: str
    duplicate_window_ns: int

    @property
    def is_work_queue(self) -> bool:
        return self.retention == "workqueue"

    def as_json(self) -> Json:
        return {
            "name": self.name,
            "subjects": list(self.subjects),
            "retention": self.retention,
            "max_msgs": self.max_msgs,
            "max_age": self.max_age_ns,
            "discard": self.discard,
            "storage": self.storage,
            "num_replicas": 1,
            "duplicate_window": self.duplicate_window_ns,
            **FIXED_STREAM,
            "metadata": METADATA,
        }


@attrs.frozen
class ConsumerConfig:
    name: str
    filter_subject: str
    ack_wait_ns: int
    max_deliver: int
    max_ack_pending: int

    @property
    def ack_wait_s(self) -> float:
        return self.ack_wait_ns / NS_PER_S

    def as_json(self) -> Json:
        return {
            "durable_name": self.name,
            "name": self.name,
            "ack_policy": "explicit",
            "ack_wait": self.ack_wait_ns,
            "max_deliver": self.max_deliver,
            **({"filter_subject": self.filter_subject} if self.filter_subject else {}),
            **FIXED_CONSUMER,
            "max_ack_pending": self.max_ack_pending,
            "num_replicas": 0,
            "metadata": METADATA,
        }


def read_stream(found: Json) -> StreamConfig:
    """The settings with the server's defaults; what the server would refuse is refused."""
    _require_fixed(found, FIXED_STREAM)
    if integer(found, "num_replicas", 1) > 1:
        raise Refused(500, 10074, "replicas > 1 not supported in non-clustered mode")
    max_age_ns = integer(found, "max_age", 0)
    config = StreamConfig(
        name=text(found, "name"),
        subjects=_subjects(found),
        retention=_one_of(found, "retention", "limits", "workqueue"),
        storage=_one_of(found, "storage", "file", "memory"),
        max_msgs=integer(found, "max_msgs", -1) or -1,
        max_age_ns=max_age_ns,
        discard=_one_of(found, "discard", "old", "new"),
        duplicate_window_ns=integer(found, "duplicate_window", 0) or _duplicate_window_ns(max_age_ns),
    )
    _check_stream(config)
    return config


def read_consumer(found: Json) -> ConsumerConfig:
    _require_fixed(found, FIXED_CONSUMER)
    name = text(found, "durable_name")
    if not name or text(found, "name") not in ("", name) or "deliver_subject" in found or "backoff" in found:
        raise NotModelled(f"not a durable pull consumer: {dict(found)}")
    return ConsumerConfig(
        name=name,
        filter_subject=text(found, "filter_subject"),
        ack_wait_ns=integer(found, "ack_wait", 0) or ACK_WAIT_NS,
        max_deliver=integer(found, "max_deliver", 0) or -1,
        max_ack_pending=integer(found, "max_ack_pending", 0) or MAX_ACK_PENDING,
    )


def text(of: Json, key: str) -> str:
    value = of.get(key, "")
    if not isinstance(value, str):
        raise NotModelled(f"{key} is {value!r}")
    return value


def integer(of: Json, key: str, default: int) -> int:
    value = of.get(key, default)
    if not isinstance(value, int):
        raise NotModelled(f"{key} is {value!r}")
    return value


def inner(of: Json, key: str) -> Json:
    value = of.get(key, {})
    if not isinstance(value, Mapping):
        raise NotModelled(f"{key} is {value!r}")
    return value


def _subjects(found: Json) -> tuple[str, ...]:
    subjects = found.get("subjects") or [text(found, "name")]
    if not isinstance(subjects, list):
        raise NotModelled(f"subjects are {subjects!r}")
    return tuple(str(subject) for subject in subjects)


def _check_stream(config: StreamConfig) -> None:
    if 0 < config.max_age_ns < MIN_AGE_NS:
        raise Refused(500, 10052, "max age needs to be >= 100ms")
    if 0 < config.max_age_ns < config.duplicate_window_ns:
        raise Refused(500, 10052, "duplicates window can not be larger then max age")
    if len(config.subjects) > 1 and any(one == other for one, other in pairwise(sorted(config.subjects))):
        raise Refused(500, 10052, "duplicate subjects detected")


def _duplicate_window_ns(max_age_ns: int) -> int:
    return min(DUPLICATE_WINDOW_NS, max_age_ns) if max_age_ns else DUPLICATE_WINDOW_NS


def _one_of(found: Json, key: str, default: str, other: str) -> str:
    value = found.get(key, default)
    if value not in (default, other):
        raise NotModelled(f"{key} is {value!r}")
    return str(value)


def _require_fixed(found: Json, fixed: Json) -> None:
    for key, value in fixed.items():
        if found.get(key, value) != value:
            raise NotModelled(f"{key} is {found[key]!r}")
