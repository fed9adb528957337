"""A bus on the broker double is a bus: our own puller and JetStream calls run on it, faults included."""

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock

from sie.bus.api import Bus, Message
from sie.bus.jetstream import (
    ConsumerLost,
    ConsumerSpec,
    StreamSpec,
    ack,
    ensure_consumer,
    ensure_stream,
    nak,
    open_puller,
)
from sie.testing.broker.face import open_broker, open_broker_bus
from sie.testing.broker.model import Broker
from sie.testing.broker.network import Network

STREAM = StreamSpec("W", ("w.*",), "workqueue", "memory", 1, 1800, 100, "new")
FILE_STREAM = StreamSpec("W", ("w.*",), "workqueue", "file", 1, 1800, 100, "new")
CONSUMER = ConsumerSpec("W", "c", "w.*", ack_wait_s=1)


def simulate(script: Callable[[Broker, Bus, Network], Awaitable[None]]) -> None:
    async def run() -> None:
        network = Network()
        async with (
            open_broker() as broker,
            open_broker_bus(broker, "", inbox="_INBOX.a", name="a", network=network) as bus,
        ):
            await bus.wait_session()
            await script(broker, bus, network)

    trio.run(run, clock=MockClock(autojump_threshold=0))


async def ensure(bus: Bus, stream: StreamSpec) -> None:
    await bus.wait_session()
    await ensure_stream(bus, stream)
    await ensure_consumer(bus, CONSUMER)


def test_unacked_work_comes_again_when_its_ack_wait_ends_and_naked_work_after_its_delay() -> None:
    async def script(_: Broker, bus: Bus, __: Network) -> None:
        await ensure(bus, STREAM)
        async with open_puller(bus, stream="W", consumer="c", capacity=4) as puller:
            bus.publish_nowait("w.a", b"")
            began_s, first = trio.current_time(), await puller.receive()
            second = await puller.receive()
            assert (first.deliveries, second.deliveries, trio.current_time() - began_s) == (1, 2, 1.0)
            nak(bus, second, delay_s=5)
            third = await puller.receive()
            assert (third.deliveries, trio.current_time() - began_s) == (3, 6.0)

    simulate(script)


def test_a_restart_erases_what_is_in_memory() -> None:
    async def script(broker: Broker, bus: Bus, _: Network) -> None:
        await ensure(bus, STREAM)
        async with open_puller(bus, stream="W", consumer="c", capacity=4) as puller:
            broker.restart()
            with pytest.raises(ConsumerLost, match="no responders"):
                await puller.receive()
        assert bus.session == 2

    simulate(script)


def test_a_restart_keeps_what_is_on_disk_and_unacked_work_comes_again() -> None:
    async def script(broker: Broker, bus: Bus, _: Network) -> None:
        await ensure(bus, FILE_STREAM)
        async with open_puller(bus, stream="W", consumer="c", capacity=4) as puller:
            bus.publish_nowait("w.a", b"")
            await puller.receive()
            broker.restart()
            again = await puller.receive()
            assert again.deliveries == 2
            ack(bus, again)

    simulate(script)


def test_latency_is_paid_in_each_direction() -> None:
    async def script(_: Broker, bus: Bus, network: Network) -> None:
        heard = list[Message]()
        network.latency_s = 0.25
        async with bus.subscribe("a.*", heard.append):
            bus.publish_nowait("a.b", b"")
            await trio.sleep(0.49)
            assert not heard
            await trio.sleep(0.02)
            assert len(heard) == 1

    simulate(script)


def test_a_blocked_way_loses_nothing_when_it_opens_in_time_and_ends_the_session_when_not() -> None:
    async def script(_: Broker, bus: Bus, network: Network) -> None:
        heard = list[Message]()
        async with bus.subscribe("a.*", heard.append):
            network.blocked = True
            bus.publish_nowait("a.b", b"")
            await trio.sleep(5)
            assert not heard
            network.blocked = False
            await trio.sleep(0.1)
            assert len(heard) == 1
            network.blocked = True
            await trio.sleep(20)
            assert bus.session == 0
            network.blocked = False
            assert await bus.wait_session() == 2

    simulate(script)


def test_dropped_messages_are_only_those_of_the_pattern() -> None:
    async def script(_: Broker, bus: Bus, network: Network) -> None:
        heard = list[str]()
        network.drop_next(1, pattern="a.b")
        async with bus.subscribe("a.*", lambda message: heard.append(message.subject)):
            for subject in ("a.c", "a.b", "a.b"):
                bus.publish_nowait(subject, b"")
            await trio.sleep(0.1)
        assert heard == ["a.c", "a.b"]

    simulate(script)
