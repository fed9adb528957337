"""What the broker double does to connections, told without Trio."""

from sie.testing.broker.links import Link
from sie.testing.broker.model import Broker


def connect(broker: Broker) -> Link:
    return broker.connect("a", on_sent=lambda: None, on_closed=lambda: None)


def test_a_message_over_max_payload_closes_the_connection() -> None:
    broker = Broker(lambda: 0.0, max_payload=10)
    link = connect(broker)
    broker.publish(link, "a", bytes(11))
    assert link.closed_because == "Maximum Payload Violation"


def test_a_client_that_reads_too_slowly_is_cut_off() -> None:
    broker = Broker(lambda: 0.0, max_pending_bytes=10)
    link = connect(broker)
    broker.subscribe(link, 1, "a")
    broker.publish(link, "a", bytes(10))
    assert link.is_open
    broker.publish(link, "a", b"1")
    assert link.closed_because == "Slow Consumer"


def test_a_question_that_nobody_hears_is_answered_with_503() -> None:
    broker = Broker(lambda: 0.0)
    link = connect(broker)
    broker.subscribe(link, 1, "r")
    broker.publish(link, "nobody", b"", "r")
    assert link.read().message.status == "503"


def test_a_queue_group_hears_each_message_once() -> None:
    broker = Broker(lambda: 0.0)
    link = connect(broker)
    broker.subscribe(link, 1, "a", "q")
    broker.subscribe(link, 2, "a", "q")
    for _ in range(4):
        broker.publish(link, "a", b"")
    assert sorted(sent.number for sent in link.sent) == [1, 1, 2, 2]


def test_an_ack_of_what_was_not_delivered_is_not_answered() -> None:
    broker = Broker(lambda: 0.0)
    link = connect(broker)
    broker.publish(link, "$JS.API.STREAM.CREATE.s", b'{"name": "s", "subjects": ["a"]}')
    config = b'{"name": "c", "durable_name": "c", "ack_policy": "explicit"}'
    broker.publish(link, "$JS.API.CONSUMER.CREATE.s.c", b'{"stream_name": "s", "action": "", "config": %b}' % config)
    broker.publish(link, "a", b"")
    broker.subscribe(link, 1, "r")
    ack = "$JS.ACK.s.c.1.1.1.0.0"
    broker.publish(link, ack, b"+ACK", "r")
    assert not link.sent
    broker.publish(link, "$JS.API.CONSUMER.MSG.NEXT.s.c", b"1", "r")
    assert link.read().message.subject == "a"
    broker.publish(link, ack, b"+ACK", "r")
    assert link.read().message.data == b""
