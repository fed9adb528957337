"""Asking over the bus, against a real nats-server (§8)."""

import pytest
import trio

from sie.bus.api import NoResponders, NotConnected, ReplyTimeout
from sie.bus.inbox import Inbox
from sie.bus.nats import open_bus
from sie.bus.request import request
from sie.testing.nats_server import NatsServer, free_port
from tests.bus.waiting import CEILING_S


async def test_the_answer_of_another_bus_comes_back(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with (
            open_bus(server.url, inbox="_INBOX.r1", name="asks") as asks,
            open_bus(server.url, inbox="_INBOX.r2", name="answers") as answers,
            answers.subscribe(
                "ask.*", lambda message: answers.publish_nowait(message.reply, message.data + b"!", headers={"A": "b"})
            ),
        ):
            await answers.wait_session()
            await request(answers, "$JS.API.INFO", b"", timeout_s=5)
            await asks.wait_session()
            answer = await request(asks, "ask.me", b"who", timeout_s=5)
            assert (answer.data, dict(answer.headers)) == (b"who!", {"A": "b"})


async def test_asking_nobody_is_told_at_once(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.r1", name="test") as bus:
            await bus.wait_session()
            with pytest.raises(NoResponders):
                await request(bus, "nobody", b"", timeout_s=CEILING_S)


async def test_asking_somebody_who_does_not_answer_ends_at_the_bound(server: NatsServer) -> None:
    with trio.fail_after(CEILING_S):
        async with (
            open_bus(server.url, inbox="_INBOX.r1", name="test") as bus,
            bus.subscribe("deaf", lambda _: None),
        ):
            await bus.wait_session()
            with pytest.raises(ReplyTimeout):
                await request(bus, "deaf", b"", timeout_s=0.1)


async def test_asking_without_a_broker_raises_at_once() -> None:
    with trio.fail_after(CEILING_S):
        async with open_bus(f"nats://127.0.0.1:{free_port()}", inbox="_INBOX.r1", name="test") as bus:
            with pytest.raises(NotConnected):
                await request(bus, "a", b"", timeout_s=CEILING_S)


class Unanswered(Inbox):
    """A bus that takes everything and delivers nothing."""

    @property
    def inbox(self) -> str:
        return self.prefix

    @property
    def max_payload(self) -> int:
        return 1024

    def publish_nowait(self, subject: str, data: bytes, **_: object) -> None:
        assert (subject, data) == ("a", b"")


async def test_no_correlation_outlives_its_question() -> None:
    bus = Unanswered("_INBOX.r1")
    with pytest.raises(ReplyTimeout):
        await request(bus, "a", b"", timeout_s=0.01)
    with trio.move_on_after(0.01):
        await request(bus, "a", b"", timeout_s=60)
    assert len(bus) == 0
