"""Streams, consumers and publish acks against a real nats-server (§8.2)."""

import attrs
import pytest
import trio

from sie.bus.api import Bus, Message
from sie.bus.jetstream import (
    ApiError,
    ConsumerSpec,
    Mismatch,
    PubAck,
    PubRefused,
    StreamSpec,
    call_api,
    decode_pub_ack,
    ensure_consumer,
    ensure_stream,
)
from sie.bus.jetstream_api import answer_config
from sie.bus.nats import open_bus
from sie.testing.nats_server import NatsServer
from tests.bus.waiting import CEILING_S

NS = 1_000_000_000
STREAM = StreamSpec(
    name="WORK_POOL_default",
    subjects=("sie.work.default.*.*.*",),
    retention="workqueue",
    storage="memory",
    replicas=1,
    max_age_s=1800,
    max_msgs=100_000,
    discard="new",
)
CONSUMER = ConsumerSpec("WORK_POOL_default", "default_l4_default", "sie.work.default.l4.default.*")
SUBJECT = "sie.work.default.l4.default.m"


async def publish(bus: Bus, subject: str, *, message_id: str = "") -> PubAck | PubRefused:
    answers, answered = list[Message](), trio.Event()

    def on_reply(message: Message) -> None:
        answers.append(message)
        answered.set()

    correlation = bus.correlate(on_reply)
    headers = {"Nats-Msg-Id": message_id} if message_id else {}
    bus.publish_nowait(subject, b"work", reply=correlation.subject, headers=headers)
    await answered.wait()
    correlation.forget()
    return decode_pub_ack(answers[0])


async def settings(bus: Bus, call: str) -> dict[str, object]:
    return dict(answer_config(await call_api(bus, call)))


async def test_a_new_stream_has_exactly_the_settings_of_its_spec(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            assert (await ensure_stream(bus, STREAM)).action == "created"
            found = await settings(bus, f"STREAM.INFO.{STREAM.name}")
            wanted: dict[str, object] = {
                "name": "WORK_POOL_default",
                "subjects": ["sie.work.default.*.*.*"],
                "retention": "workqueue",
                "storage": "memory",
                "num_replicas": 1,
                "max_age": 1800 * NS,
                "max_msgs": 100_000,
                "discard": "new",
                "max_bytes": -1,
                "max_msg_size": -1,
                "max_msgs_per_subject": -1,
                "duplicate_window": 120 * NS,
            }
            assert {key: found[key] for key in wanted} == wanted


async def test_a_new_consumer_has_exactly_the_settings_of_its_spec(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            await ensure_stream(bus, STREAM)
            assert (await ensure_consumer(bus, CONSUMER)).action == "created"
            found = await settings(bus, f"CONSUMER.INFO.{CONSUMER.stream}.{CONSUMER.name}")
            wanted: dict[str, object] = {
                "name": "default_l4_default",
                "durable_name": "default_l4_default",
                "filter_subject": "sie.work.default.l4.default.*",
                "ack_policy": "explicit",
                "deliver_policy": "all",
                "replay_policy": "instant",
                "ack_wait": 30 * NS,
                "max_deliver": 20,
                "max_ack_pending": 1000,
            }
            assert {key: found[key] for key in wanted} == wanted
            assert "deliver_subject" not in found


async def test_ensuring_again_changes_nothing(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            await ensure_stream(bus, STREAM)
            await ensure_consumer(bus, CONSUMER)
            stream, consumer = await ensure_stream(bus, STREAM), await ensure_consumer(bus, CONSUMER)
            assert (stream.action, stream.mismatches) == ("unchanged", ())
            assert (consumer.action, consumer.mismatches) == ("unchanged", ())


async def test_two_that_ensure_at_once_both_succeed(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ensure_stream, bus, STREAM)
                nursery.start_soon(ensure_stream, bus, attrs.evolve(STREAM, max_age_s=1700))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ensure_consumer, bus, CONSUMER)
                nursery.start_soon(ensure_consumer, bus, attrs.evolve(CONSUMER, max_deliver=7))


async def test_an_existing_stream_is_repaired_to_exactly_the_subjects_age_and_discard_of_the_spec(
    server: NatsServer,
) -> None:
    legacy = attrs.evolve(STREAM, subjects=("sie.work.*.default",), max_age_s=60, discard="old")
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            await ensure_stream(bus, legacy)
            ensured = await ensure_stream(bus, STREAM)
            assert (ensured.action, set(ensured.changed)) == ("updated", {"subjects", "max_age", "discard"})
            assert ensured.mismatches == ()
            found = await settings(bus, f"STREAM.INFO.{STREAM.name}")
            assert found["subjects"] == ["sie.work.default.*.*.*"]
            assert (found["max_age"], found["discard"]) == (1800 * NS, "new")


async def test_an_age_below_the_duplicate_window_takes_the_window_along(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            await ensure_stream(bus, STREAM)
            await ensure_stream(bus, attrs.evolve(STREAM, max_age_s=60))
            found = await settings(bus, f"STREAM.INFO.{STREAM.name}")
            assert (found["max_age"], found["duplicate_window"]) == (60 * NS, 60 * NS)


async def test_a_storage_mismatch_is_reported_and_the_stream_left_alone(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            await ensure_stream(bus, STREAM)
            await publish(bus, SUBJECT)
            ensured = await ensure_stream(bus, attrs.evolve(STREAM, storage="file", max_age_s=1900))
            assert ensured.mismatches == (Mismatch("storage", "file", "memory"),)
            assert ensured.changed == ("max_age",)
            assert (await settings(bus, f"STREAM.INFO.{STREAM.name}"))["storage"] == "memory"
            assert await publish(bus, SUBJECT) == PubAck(STREAM.name, 2)


async def test_a_consumer_whose_settings_differ_is_updated(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            await ensure_stream(bus, STREAM)
            await ensure_consumer(bus, CONSUMER)
            ensured = await ensure_consumer(bus, attrs.evolve(CONSUMER, max_deliver=7, ack_wait_s=12.5))
            assert (ensured.action, set(ensured.changed)) == ("updated", {"max_deliver", "ack_wait"})
            found = await settings(bus, f"CONSUMER.INFO.{CONSUMER.stream}.{CONSUMER.name}")
            assert (found["max_deliver"], found["ack_wait"]) == (7, 12_500_000_000)


async def test_a_refused_call_says_which_rule_it_broke(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            with pytest.raises(ApiError) as refused:
                await ensure_consumer(bus, CONSUMER)
            assert (refused.value.code, refused.value.err_code) == (404, 10059)


async def test_a_second_message_of_the_same_id_is_acked_as_a_duplicate(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            await ensure_stream(bus, STREAM)
            assert await publish(bus, SUBJECT, message_id="r.0") == PubAck(STREAM.name, 1)
            assert await publish(bus, SUBJECT, message_id="r.0") == PubAck(STREAM.name, 1, duplicate=True)


async def test_publishing_where_no_stream_listens_or_into_a_full_stream_is_refused(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            nowhere = await publish(bus, SUBJECT)
            assert isinstance(nowhere, PubRefused)
            assert nowhere.reason == "no_stream"
            await ensure_stream(bus, attrs.evolve(STREAM, max_msgs=1))
            await publish(bus, SUBJECT)
            full = await publish(bus, SUBJECT)
            assert isinstance(full, PubRefused)
            assert full.reason == "stream_full"
