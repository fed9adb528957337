"""What does the server answer to a call of `$JS.API.>`? Request JSON to answer JSON, over the streams and consumers.

Calls that it does not have get no answer, as in the real server. Sans-IO.
"""

import base64
import json
from collections.abc import Callable, Mapping

import attrs

from sie.bus.jetstream_api import Json
from sie.testing.broker.configs import NotModelled, Refused, inner, integer, read_consumer, read_stream, text
from sie.testing.broker.consumers import Consumer
from sie.testing.broker.jetstream import Action, JetStream
from sie.testing.broker.streams import Stored, Stream
from sie.testing.broker.times import timestamp

PREFIX = "$JS.API."
KIND = "io.nats.jetstream.api.v1."
_ACTIONS: Mapping[str, Action] = {"": "", "create": "create", "update": "update"}


@attrs.frozen
class Call:
    """One request: the names in its subject, and its body."""

    names: tuple[str, ...]
    body: bytes

    def json(self) -> Json:
        try:
            found: object = json.loads(self.body)
        except ValueError as error:
            raise Refused(400, 10025, f"invalid JSON: {error}") from None
        if not isinstance(found, dict):
            raise Refused(400, 10025, "invalid JSON: not an object")
        return found


Answer = Callable[[JetStream, Call], Json]


def answer(jetstream: JetStream, subject: str, body: bytes) -> Json | None:
    """None: there is no such call, and no answer. Raises NotModelled."""
    call = subject.removeprefix(PREFIX)
    for prefix, (kind, function) in CALLS.items():
        if call == prefix or call.startswith(f"{prefix}."):
            names = tuple(call.removeprefix(prefix).lstrip(".").split("."))
            try:
                return {"type": KIND + kind, **function(jetstream, Call(names, body))}
            except Refused as refused:
                return {"type": KIND + kind, "error": refused.error}
    return None


def remember(jetstream: JetStream) -> None:
    """A server that starts looks at its consumers; the first call that writes one again is told what it saw then."""
    for found in jetstream.consumers.values():
        for consumer in found.values():
            consumer.first_info = _consumer_info(consumer)


def _account_info(jetstream: JetStream, _: Call) -> Json:
    consumers = sum(len(found) for found in jetstream.consumers.values())
    return {"memory": 0, "storage": 0, "streams": len(jetstream.streams), "consumers": consumers}


def _stream_names(jetstream: JetStream, _: Call) -> Json:
    names = sorted(jetstream.streams)
    return {"total": len(names), "offset": 0, "limit": 1024, "streams": names}


def _stream_create(jetstream: JetStream, call: Call) -> Json:
    stream = jetstream.create_stream(read_stream(_named(call)))
    return {**_stream_info(jetstream, stream), "did_create": True}


def _stream_update(jetstream: JetStream, call: Call) -> Json:
    found = _named(call)
    jetstream.stream(text(found, "name"))
    return _stream_info(jetstream, jetstream.update_stream(read_stream(found)))


def _stream_read(jetstream: JetStream, call: Call) -> Json:
    return {"total": 0, "offset": 0, "limit": 0, **_stream_info(jetstream, jetstream.stream(call.names[0]))}


def _stream_delete(jetstream: JetStream, call: Call) -> Json:
    jetstream.delete_stream(call.names[0])
    return {"success": True}


def _stream_purge(jetstream: JetStream, call: Call) -> Json:
    if call.body:
        raise NotModelled("a purge of only a part")
    return {"success": True, "purged": jetstream.stream(call.names[0]).purge()}


def _message_get(jetstream: JetStream, call: Call) -> Json:
    body = call.json()
    if set(body) != {"seq"}:
        raise NotModelled(f"a message by {sorted(body)}")
    seq = integer(body, "seq", 0)
    if not seq:
        raise Refused(400, 10003, "bad request")
    stored = jetstream.stream(call.names[0]).get(seq)
    if stored is None:
        raise Refused(404, 10037, "no message found")
    return {"message": _stored(stored)}


def _message_delete(jetstream: JetStream, call: Call) -> Json:
    body = call.json()
    if set(body) - {"seq", "no_erase"}:
        raise NotModelled(f"a message deleted by {sorted(body)}")
    stream, seq = jetstream.stream(call.names[0]), integer(body, "seq", 0)
    if stream.remove(seq):
        return {"success": True}
    if stream.config.storage == "memory" or 0 < stream.first_seq <= seq <= stream.last_seq:
        raise Refused(400, 10043, f"sequence {seq} not found")
    raise Refused(500, 10057, "no message found" if seq <= stream.last_seq else "stream store EOF")


def _consumer_create(jetstream: JetStream, call: Call) -> Json:
    body = call.json()
    stream, name = call.names[:2]
    found = inner(body, "config")
    jetstream.stream(stream)
    if text(body, "stream_name") != stream or text(found, "name") != name:
        raise NotModelled(f"names in body and subject differ: {body}")
    filter_in_subject = ".".join(call.names[2:])
    if filter_in_subject and filter_in_subject != text(found, "filter_subject"):
        raise Refused(400, 10131, "Consumer create request did not match filtered subject from create subject")
    _require_pull_rules(jetstream.stream(stream), found)
    action = _ACTIONS[text(body, "action")]
    consumer = jetstream.write_consumer(stream, read_consumer(found), action)
    info, consumer.first_info = consumer.first_info, None
    return _consumer_info(consumer) if info is None else info


def _consumer_read(jetstream: JetStream, call: Call) -> Json:
    return _consumer_info(jetstream.consumer(*call.names))


def _consumer_delete(jetstream: JetStream, call: Call) -> Json:
    jetstream.delete_consumer(*call.names)
    return {"success": True}


CALLS: Mapping[str, tuple[str, Answer]] = {
    "INFO": ("account_info_response", _account_info),
    "STREAM.NAMES": ("stream_names_response", _stream_names),
    "STREAM.CREATE": ("stream_create_response", _stream_create),
    "STREAM.UPDATE": ("stream_update_response", _stream_update),
    "STREAM.INFO": ("stream_info_response", _stream_read),
    "STREAM.DELETE": ("stream_delete_response", _stream_delete),
    "STREAM.PURGE": ("stream_purge_response", _stream_purge),
    "STREAM.MSG.GET": ("stream_msg_get_response", _message_get),
    "STREAM.MSG.DELETE": ("stream_msg_delete_response", _message_delete),
    "CONSUMER.CREATE": ("consumer_create_response", _consumer_create),
    "CONSUMER.INFO": ("consumer_info_response", _consumer_read),
    "CONSUMER.DELETE": ("consumer_delete_response", _consumer_delete),
}


def _named(call: Call) -> Json:
    found = call.json()
    if text(found, "name") != call.names[0]:
        raise Refused(400, 10056, "stream name in subject does not match request")
    return found


def _require_pull_rules(stream: Stream, found: Json) -> None:
    if text(found, "ack_policy") == "explicit":
        return
    if stream.config.is_work_queue:
        raise Refused(400, 10084, "consumer in pull mode requires explicit ack policy on workqueue stream")
    raise NotModelled(f"ack policy {found.get('ack_policy')!r}")


def _stream_info(jetstream: JetStream, stream: Stream) -> Json:
    subjects = {stored.subject for stored in stream}
    first = next(iter(stream), None)
    return {
        "config": stream.config.as_json(),
        "created": timestamp(stream.created_s),
        "state": {
            "messages": len(stream),
            "bytes": stream.size_bytes,
            "first_seq": stream.first_seq,
            "first_ts": timestamp(None if first is None else first.stored_s),
            "last_seq": stream.last_seq,
            "last_ts": timestamp(stream.last_s),
            **({"num_subjects": len(subjects)} if subjects else {}),
            "consumer_count": len(jetstream.consumers[stream.config.name]),
        },
        "ts": timestamp(stream.agenda.now_s),
    }


def _stored(stored: Stored) -> Json:
    block = "NATS/1.0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in stored.headers.items()) + "\r\n"
    return {
        "subject": stored.subject,
        "seq": stored.seq,
        **({"hdrs": base64.b64encode(block.encode()).decode()} if stored.headers else {}),
        **({"data": base64.b64encode(stored.data).decode()} if stored.data else {}),
        "time": timestamp(stored.stored_s),
    }


def _consumer_info(consumer: Consumer) -> Json:
    books = consumer.books
    consumer.waiting.sweep(consumer.agenda.now_s)
    return {
        "stream_name": consumer.stream.config.name,
        "name": consumer.config.name,
        "created": timestamp(consumer.created_s),
        "config": consumer.config.as_json(),
        "delivered": {"consumer_seq": books.consumer_seq - 1, "stream_seq": books.next_seq - 1},
        "ack_floor": {"consumer_seq": books.floor_consumer_seq, "stream_seq": books.floor_seq},
        "num_ack_pending": len(books.lent),
        "num_redelivered": consumer.redelivered,
        "num_waiting": len(consumer.waiting),
        "num_pending": consumer.unseen,
        "ts": timestamp(consumer.agenda.now_s),
    }
