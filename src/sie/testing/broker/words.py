"""What of a broker's answers must be alike, in words that can be compared? Pure.

Errors, counts and the settings that were asked for; not times, names of servers or ids.
"""

import json
from collections.abc import Sequence

from sie.bus.api import Message
from sie.bus.jetstream_api import Json, decode_delivery

COUNTS = ("num_pending", "num_ack_pending", "num_redelivered", "num_waiting")
SHUTDOWN = "409 Server Shutdown"
STATE = ("messages", "bytes", "first_seq", "last_seq", "consumer_count")


def answer_in_words(answer: Message) -> str:
    return answer.status or _sorted(as_json(answer))


def call_in_words(answer: Message) -> str:
    found = as_json(answer)
    for key in ("error", "message"):
        inner = found.get(key)
        if isinstance(inner, dict):
            return _sorted({name: value for name, value in inner.items() if name != "time"}).replace("\\u003e", ">")
    state = found.get("state")
    counts = {key: state.get(key) for key in STATE} if isinstance(state, dict) else {}
    return _sorted({**counts, **{key: found[key] for key in (*COUNTS, "purged", "success", "answer") if key in found}})


def arrival_in_words(message: Message, prefix: str) -> str:
    delivery = decode_delivery(message)
    if delivery is None:
        left = message.headers.get("Nats-Pending-Messages", "")
        words = "" if message.status == "503" else message.headers.get("Description", "")
        return f"{message.status} {words} {left}"
    subject = message.subject.removeprefix(prefix)
    tried, left_over = delivery.deliveries, delivery.pending
    return f"{subject} {delivery.stream_seq} try {tried} before {left_over} {len(message.data)}"


def by_consumer(messages: Sequence[Message]) -> list[Message]:
    """What came by itself: consumers deliver side by side, so only of one and the same is the order any rule."""
    deliveries = [message for message in messages if decode_delivery(message) is not None]
    in_order = iter(sorted(deliveries, key=_consumer))
    return [message if decode_delivery(message) is None else next(in_order) for message in messages]


def in_any_order(arrived: Sequence[str]) -> list[str]:
    """A server that ends tells each reply subject of it last, in the order of a map; all else stays as it came."""
    ends = sorted(words for words in arrived if words.startswith(SHUTDOWN))
    return [words for words in arrived if not words.startswith(SHUTDOWN)] + ends


def advisory_in_words(message: Message) -> str:
    found = as_json(message)
    return f"{found['consumer']} gave up {found['stream_seq']} after {found['deliveries']}"


def as_json(message: Message) -> Json:
    if not message.data:
        return {}
    found = json.loads(message.data)
    return found if isinstance(found, dict) else {}


def _consumer(delivered: Message) -> str:
    """`$JS.ACK.{stream}.{consumer}.…`"""
    return delivered.reply.split(".")[3]


def _sorted(found: Json) -> str:
    return json.dumps(found, sort_keys=True)
