"""The connection's life, against a real nats-server (§8, §10): begin, break, heal, bound, close."""

import logging
import os
from pathlib import Path

import pytest
import trio

from sie.bus.api import Bus, Message, MessageTooLarge, NotConnected, OutboxFull
from sie.bus.nats import open_bus
from sie.bus.urls import with_credentials
from sie.testing.nats_server import NatsServer, free_port, open_nats_server
from tests.bus.waiting import CEILING_S, settle, until

INBOX = "_INBOX.r1"


def refuse(message: Message) -> None:
    raise LookupError(message.subject)


def fill(bus: Bus, sent: list[bytes]) -> None:
    """Publish more than any outbox of these tests takes."""
    while len(sent) < 100:
        bus.publish_nowait("a.b", bytes(1000))
        sent.append(b"")


def open_sockets() -> set[str]:
    links = {os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()}
    return {link for link in links if "socket:" in link}


async def test_publishing_before_the_broker_is_up_raises_and_heals_once_it_comes(tmp_path: Path) -> None:
    port = free_port()
    with trio.fail_after(CEILING_S):
        async with open_bus(f"nats://127.0.0.1:{port}", inbox=INBOX, name="test") as bus:
            assert bus.session == 0
            with pytest.raises(NotConnected):
                bus.publish_nowait("a.b", b"")
            received = list[Message]()
            async with (
                bus.subscribe("a.*", received.append),
                open_nats_server(store_dir=tmp_path, port=port),
            ):
                assert await bus.wait_session() == 1
                bus.publish_nowait("a.b", b"late", headers={"X": "y"})
                await settle(bus)
            assert received == [Message("a.b", b"late", headers={"X": "y"})]


async def test_after_kill_9_and_restart_subscriptions_resume_and_the_session_number_rises(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            received = list[bytes]()
            async with bus.subscribe("a.*", lambda message: received.append(message.data)):
                assert await bus.wait_session() == 1
                bus.publish_nowait("a.b", b"before")
                await settle(bus)
                await server.restart()
                assert await bus.wait_session(newer_than=1) == 2
                bus.publish_nowait("a.b", b"after")
                await settle(bus)
            assert received == [b"before", b"after"]


async def test_publishing_while_the_broker_is_down_raises_at_once(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            await bus.wait_session()
            await server.kill()
            await until(lambda: not bus.session)
            with pytest.raises(NotConnected):
                bus.publish_nowait("a.b", b"")


async def test_a_message_over_max_payload_by_its_headers_is_refused_and_the_connection_survives(
    server: NatsServer,
) -> None:
    """Expectation 25."""
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            await bus.wait_session()
            received = list[int]()
            async with bus.subscribe("a.*", lambda message: received.append(len(message.data))):
                head = {"Nats-Msg-Id": "i" * 100}
                size = len(b"NATS/1.0\r\n") + len(b"Nats-Msg-Id: \r\n") + 100 + len(b"\r\n")
                with pytest.raises(MessageTooLarge) as refused:
                    bus.publish_nowait("a.b", bytes(bus.max_payload - size + 1), headers=head)
                bus.publish_nowait("a.b", bytes(bus.max_payload - size), headers=head)
                await settle(bus)
                assert (refused.value.size_bytes, refused.value.max_bytes) == (bus.max_payload + 1, bus.max_payload)
            assert received == [bus.max_payload - size]
            assert bus.session == 1


@pytest.mark.parametrize("subject", ["", "a b", "a\r\nPUB b 0\r\n\r\n", "a" * 5000])
async def test_a_subject_that_would_break_the_protocol_is_refused_and_the_connection_survives(
    server: NatsServer, subject: str
) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            await bus.wait_session()
            with pytest.raises(ValueError, match="subject"):
                bus.publish_nowait(subject, b"")
            await settle(bus)
            assert bus.session == 1


async def test_a_raising_handler_ends_the_bus_with_that_error(server: NatsServer) -> None:
    async def serve() -> None:
        async with open_bus(server.url, inbox=INBOX, name="test") as bus, bus.subscribe("a.*", refuse):
            await bus.wait_session()
            bus.publish_nowait("a.b", b"")
            await trio.sleep_forever()

    with trio.fail_after(CEILING_S), pytest.raises(LookupError, match=r"a\.b"):
        await serve()


async def test_a_raising_inbox_handler_ends_the_bus_and_keeps_what_the_block_raised_as_its_cause(
    server: NatsServer,
) -> None:
    async def serve() -> None:
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            bus.on_inbox(refuse)
            await bus.wait_session()
            bus.publish_nowait(f"{INBOX}.request-1", b"")
            try:
                await trio.sleep_forever()
            finally:
                raise RuntimeError("while leaving")

    with trio.fail_after(CEILING_S):
        with pytest.raises(LookupError) as failed:
            await serve()
        assert isinstance(failed.value.__cause__, RuntimeError)


async def test_what_the_block_raises_leaves_as_it_was_raised(server: NatsServer) -> None:
    async def serve() -> None:
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            await bus.wait_session()
            raise KeyError("mine")

    with trio.fail_after(CEILING_S), pytest.raises(KeyError, match="mine"):
        await serve()


async def test_replies_go_to_their_correlation_until_it_is_forgotten_and_all_else_to_the_inbox_handler(
    server: NatsServer,
) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            await bus.wait_session()
            replies, others = list[bytes](), list[str]()
            bus.on_inbox(lambda message: others.append(message.subject))
            kept = bus.correlate(lambda message: replies.append(message.data))
            dropped = bus.correlate(lambda message: replies.append(message.data))
            dropped.forget()
            bus.publish_nowait(kept.subject, b"1")
            bus.publish_nowait(kept.subject, b"2")
            bus.publish_nowait(dropped.subject, b"3")
            bus.publish_nowait(f"{INBOX}.request-1", b"4")
            await settle(bus)
            assert replies == [b"1", b"2"]
            assert others == [f"{INBOX}.request-1"]
            assert kept.subject.startswith(f"{INBOX}._ack.")


async def test_the_outbox_refuses_what_exceeds_its_bound_and_takes_more_once_it_is_sent(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test", outbox_max_bytes=10_000) as bus:
            await bus.wait_session()
            sent = list[bytes]()
            with pytest.raises(OutboxFull):
                fill(bus, sent)
            assert len(sent) == 10_000 // (1000 + 128)
            await trio.sleep(0.1)
            await settle(bus)


async def test_leaving_sends_what_the_outbox_holds(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            received = list[Message]()
            async with bus.subscribe("a.*", received.append):
                await bus.wait_session()
                async with open_bus(server.url, inbox="_INBOX.r2", name="other") as other:
                    await other.wait_session()
                    for _ in range(1000):
                        other.publish_nowait("a.b", bytes(1000))
                await settle(bus)
            assert len(received) == 1000


async def test_closing_inside_a_cancelled_scope_sends_the_outbox_and_leaves_no_socket(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            received = list[Message]()
            async with bus.subscribe("a.*", received.append):
                await bus.wait_session()
                before = open_sockets()
                with trio.CancelScope() as scope:
                    async with open_bus(server.url, inbox="_INBOX.r2", name="other") as other:
                        await other.wait_session()
                        assert len(open_sockets()) > len(before)
                        other.publish_nowait("a.b", b"goodbye")
                        scope.cancel()
                        await trio.sleep_forever()
                assert scope.cancelled_caught
                assert open_sockets() == before
                await settle(bus)
            assert [message.data for message in received] == [b"goodbye"]


async def test_entering_and_leaving_inside_a_cancelled_scope_ends(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S), trio.CancelScope() as scope:
        scope.cancel()
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            await bus.wait_session()
    assert scope.cancelled_caught


async def test_closing_ends_although_the_broker_is_silent(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        before = open_sockets()
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            await bus.wait_session()
            server.freeze()
            for _ in range(40):
                bus.publish_nowait("a.b", bytes(bus.max_payload))
            await trio.sleep(0.1)
        assert open_sockets() == before
        server.thaw()


async def test_nothing_reaches_a_handler_after_its_block(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            await bus.wait_session()
            received = list[bytes]()
            async with bus.subscribe("a.*", lambda message: received.append(message.data)):
                bus.publish_nowait("a.b", b"inside")
                await settle(bus)
            bus.publish_nowait("a.b", b"outside")
            await settle(bus)
            assert received == [b"inside"]


async def test_a_queue_group_hears_each_message_once(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            await bus.wait_session()
            received = list[bytes]()
            async with (
                bus.subscribe("a.*", lambda message: received.append(message.data), queue="q"),
                bus.subscribe("a.*", lambda message: received.append(message.data), queue="q"),
            ):
                for n in range(10):
                    bus.publish_nowait("a.b", b"%d" % n)
                await settle(bus)
            assert sorted(received) == [b"%d" % n for n in range(10)]


@pytest.mark.parametrize("password", ["p@ss:w%41d/#?", "plain", "ünïcode"])
async def test_any_password_of_the_settings_logs_in(password: str, tmp_path: Path) -> None:
    with trio.fail_after(CEILING_S):
        async with open_nats_server(store_dir=tmp_path, arguments=("--user", "s@e", "--pass", password)) as server:
            url = with_credentials(server.url, "s@e", password)
            async with open_bus(url, inbox=INBOX, name="test") as bus:
                assert await bus.wait_session() == 1


async def test_a_refused_password_is_logged_without_it_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    login = ("--user", "sie", "--pass", "right")
    with trio.fail_after(CEILING_S):
        async with open_nats_server(store_dir=tmp_path, arguments=login) as server:
            async with open_bus(server.url, inbox=INBOX, name="test", user="sie", password="wrong") as refused:
                await until(lambda: "Authorization" in str([record.__dict__ for record in caplog.records]))
                assert refused.session == 0
            async with open_bus(server.url, inbox=INBOX, name="test", user="sie", password="right") as bus:
                assert await bus.wait_session() == 1
    assert "wrong" not in str([record.__dict__ for record in caplog.records])


async def test_a_broker_that_stays_away_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), trio.move_on_after(2):
        async with open_bus(f"nats://127.0.0.1:{free_port()}", inbox=INBOX, name="test"):
            await trio.sleep_forever()
    tries = [getattr(record, "tries", 0) for record in caplog.records]
    assert tries == [1, 2, 4, 8][: len(tries)]
    assert tries


async def test_a_connection_outlives_a_subscription_that_was_left_while_the_broker_was_silent(
    server: NatsServer,
) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox=INBOX, name="test") as bus:
            await bus.wait_session()
            async with bus.subscribe("a.b", refuse):
                await settle(bus)
                server.freeze()
                await trio.sleep(0.1)  # until it has come to a halt
            server.thaw()
            await settle(bus)
            assert bus.session == 1
