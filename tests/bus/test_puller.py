"""Pulling against a real nats-server (§8.2): nothing lost or hoarded, and a clear word when the consumer is gone."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import pytest
import trio

from sie.bus.api import Bus, NoResponders
from sie.bus.jetstream import (
    ApiError,
    ConsumerLost,
    ConsumerSpec,
    StreamSpec,
    ack,
    call_api,
    ensure_consumer,
    ensure_stream,
    in_progress,
    nak,
    open_puller,
    term,
)
from sie.bus.nats import open_bus
from sie.testing.nats_server import NatsServer
from tests.bus.waiting import CEILING_S, settle, until

STREAM = StreamSpec("W", ("w.*",), "workqueue", "memory", 1, 1800, 100_000, "new")
FILE_STREAM = attrs.evolve(STREAM, storage="file")
CONSUMER = ConsumerSpec("W", "c", "w.*", ack_wait_s=30)


async def ensure(bus: Bus, stream: StreamSpec, consumer: ConsumerSpec = CONSUMER) -> None:
    """As a service does: again until the broker, which may be starting, has both."""
    while True:
        await bus.wait_session()
        try:
            await ensure_stream(bus, stream)
            await ensure_consumer(bus, consumer)
        except (NoResponders, ApiError):
            await trio.sleep(0.05)
        else:
            return


@asynccontextmanager
async def open_ready_bus(
    server: NatsServer, stream: StreamSpec = STREAM, consumer: ConsumerSpec = CONSUMER
) -> AsyncIterator[Bus]:
    with trio.fail_after(CEILING_S):
        async with open_bus(server.url, inbox="_INBOX.w1", name="test") as bus:
            await ensure(bus, stream, consumer)
            yield bus


async def consumer_info(bus: Bus) -> tuple[object, object, object]:
    info = await call_api(bus, "CONSUMER.INFO.W.c")
    return info["num_pending"], info["num_ack_pending"], info["num_redelivered"]


async def until_delivered_and_waiting(bus: Bus) -> None:
    """Delivered one and still waits: deleting a consumer swallows what its loop has not yet taken up, pulls too."""
    while True:
        info = await call_api(bus, "CONSUMER.INFO.W.c")
        if info["num_ack_pending"] == 1 and info["num_waiting"] == 1:
            return
        await trio.sleep(0.005)


async def test_cancelling_a_receiver_loses_no_message(server: NatsServer) -> None:
    seen = Counter[bytes]()
    deliveries = list[int]()
    async with open_ready_bus(server) as bus, open_puller(bus, stream="W", consumer="c", capacity=16) as puller:
        for n in range(2000):
            bus.publish_nowait("w.a", b"%d" % n)
        while sum(seen.values()) < 2000:
            with trio.move_on_after(0.0005):
                while True:
                    delivery = await puller.receive()
                    seen[delivery.data] += 1
                    deliveries.append(delivery.deliveries)
                    ack(bus, delivery)
        await settle(bus)
        assert await consumer_info(bus) == (0, 0, 0)
    assert len(seen) == 2000
    assert set(seen.values()) == {1}
    assert set(deliveries) == {1}


async def test_two_receivers_share_what_comes(server: NatsServer) -> None:
    seen = Counter[bytes]()

    async with open_ready_bus(server) as bus, open_puller(bus, stream="W", consumer="c", capacity=8) as puller:

        async def receive_some(count: int) -> None:
            for _ in range(count):
                delivery = await puller.receive()
                seen[delivery.data] += 1
                ack(bus, delivery)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive_some, 50)
            nursery.start_soon(receive_some, 50)
            for n in range(100):
                bus.publish_nowait("w.a", b"%d" % n)
    assert seen == Counter(b"%d" % n for n in range(100))


async def test_a_puller_never_holds_more_than_its_capacity(server: NatsServer) -> None:
    async with open_ready_bus(server) as bus:
        for n in range(100):
            bus.publish_nowait("w.a", b"%d" % n)
        async with open_puller(bus, stream="W", consumer="c", capacity=10) as puller:
            first = await puller.receive()
            for _ in range(3):
                await settle(bus)
            pending, held, _ = await consumer_info(bus)
            assert (pending, held) == (90, 10)
            ack(bus, first)


async def test_leaving_gives_back_what_nobody_received(server: NatsServer) -> None:
    async with open_ready_bus(server) as bus:
        for n in range(20):
            bus.publish_nowait("w.a", b"%d" % n)
        async with open_puller(bus, stream="W", consumer="c", capacity=10) as puller:
            ack(bus, await puller.receive())
        seen = Counter[bytes]()
        async with open_puller(bus, stream="W", consumer="c", capacity=10) as puller:
            for _ in range(19):
                delivery = await puller.receive()
                seen[delivery.data] += 1
                ack(bus, delivery)
            await settle(bus)
            assert await consumer_info(bus) == (0, 0, 0)
        assert set(seen.values()) == {1}


async def test_leaving_inside_a_cancelled_scope_gives_back_too(server: NatsServer) -> None:
    async with open_ready_bus(server) as bus:
        for n in range(20):
            bus.publish_nowait("w.a", b"%d" % n)
        with trio.CancelScope() as scope:
            async with open_puller(bus, stream="W", consumer="c", capacity=10) as puller:
                ack(bus, await puller.receive())
                scope.cancel()
                await trio.sleep_forever()
        await settle(bus)
        async with open_puller(bus, stream="W", consumer="c", capacity=19) as puller:
            assert len({(await puller.receive()).data for _ in range(19)}) == 19


async def test_receive_nowait_has_one_or_none(server: NatsServer) -> None:
    async with open_ready_bus(server) as bus, open_puller(bus, stream="W", consumer="c", capacity=4) as puller:
        assert puller.receive_nowait() is None
        for n in range(4):
            bus.publish_nowait("w.a", b"%d" % n)
        first = await puller.receive()
        await settle(bus)
        rest = [puller.receive_nowait() for _ in range(3)]
        assert [first.data, *(delivery.data for delivery in rest if delivery)] == [b"0", b"1", b"2", b"3"]
        assert puller.receive_nowait() is None


async def test_a_delivery_carries_subject_headers_sequence_and_counts(server: NatsServer) -> None:
    async with open_ready_bus(server) as bus:
        bus.publish_nowait("w.a", b"1", headers={"traceparent": "00-1"})
        bus.publish_nowait("w.b", b"2")
        await settle(bus)
        async with open_puller(bus, stream="W", consumer="c", capacity=2) as puller:
            first, second = await puller.receive(), await puller.receive()
        assert (first.subject, first.data, dict(first.headers)) == ("w.a", b"1", {"traceparent": "00-1"})
        assert (first.stream_seq, first.deliveries, first.pending) == (1, 1, 1)
        assert (second.subject, second.stream_seq, second.pending) == ("w.b", 2, 0)


async def test_a_nak_with_a_delay_comes_again_later_and_not_before(server: NatsServer) -> None:
    async with open_ready_bus(server) as bus, open_puller(bus, stream="W", consumer="c", capacity=2) as puller:
        bus.publish_nowait("w.a", b"later")
        nak(bus, await puller.receive(), delay_s=1)
        bus.publish_nowait("w.a", b"meanwhile")
        meanwhile, again = await puller.receive(), await puller.receive()
        assert (meanwhile.data, meanwhile.deliveries) == (b"meanwhile", 1)
        assert (again.data, again.deliveries) == (b"later", 2)


async def test_work_in_progress_is_not_delivered_again(server: NatsServer) -> None:
    async with (
        open_ready_bus(server, consumer=attrs.evolve(CONSUMER, ack_wait_s=1)) as bus,
        open_puller(bus, stream="W", consumer="c", capacity=2) as puller,
    ):
        bus.publish_nowait("w.a", b"slow")
        delivery = await puller.receive()
        with trio.move_on_after(2.5) as waited:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(puller.receive)
                while True:
                    in_progress(bus, delivery)
                    await trio.sleep(0.3)
        assert waited.cancelled_caught
        term(bus, delivery)
        await settle(bus)
        assert await consumer_info(bus) == (0, 0, 0)


async def test_a_terminated_delivery_never_comes_again(server: NatsServer) -> None:
    async with (
        open_ready_bus(server, consumer=attrs.evolve(CONSUMER, ack_wait_s=0.3)) as bus,
        open_puller(bus, stream="W", consumer="c", capacity=2) as puller,
    ):
        bus.publish_nowait("w.a", b"poison")
        term(bus, await puller.receive())
        with trio.move_on_after(1) as waited:
            await puller.receive()
        assert waited.cancelled_caught


async def test_un_acked_work_of_a_file_stream_comes_again_after_kill_9(server: NatsServer) -> None:
    quick = attrs.evolve(CONSUMER, ack_wait_s=1)
    async with (
        open_ready_bus(server, FILE_STREAM, quick) as bus,
        open_puller(bus, stream="W", consumer="c", capacity=4) as puller,
    ):
        for n in range(4):
            bus.publish_nowait("w.a", b"%d" % n)
        for _ in range(4):
            assert (await puller.receive()).deliveries == 1
        await server.restart()
        again = set[bytes]()
        current = puller
        try:
            while len(again) < 4:
                again.add((await current.receive()).data)
        except ConsumerLost:  # the server accepted before it had recovered the stream
            await ensure(bus, FILE_STREAM, quick)
            async with open_puller(bus, stream="W", consumer="c", capacity=4) as other:
                while len(again) < 4:
                    again.add((await other.receive()).data)
        assert again == {b"0", b"1", b"2", b"3"}
        assert bus.session == 2


async def test_a_memory_stream_is_lost_by_kill_9_and_ensuring_it_again_works(server: NatsServer) -> None:
    async with open_ready_bus(server) as bus:
        async with open_puller(bus, stream="W", consumer="c", capacity=4) as puller:
            bus.publish_nowait("w.a", b"erased")
            assert (await puller.receive()).data == b"erased"
            await server.restart()
            with pytest.raises(ConsumerLost, match="no responders"):
                await puller.receive()
            with pytest.raises(ConsumerLost):
                puller.receive_nowait()
        await ensure(bus, STREAM)
        async with open_puller(bus, stream="W", consumer="c", capacity=4) as puller:
            bus.publish_nowait("w.a", b"new")
            assert (await puller.receive()).data == b"new"


@pytest.mark.parametrize("call", ["CONSUMER.DELETE.W.c", "STREAM.DELETE.W"])
async def test_deleting_the_consumer_or_its_stream_is_told_after_what_is_buffered(
    server: NatsServer, call: str
) -> None:
    async with open_ready_bus(server) as bus, open_puller(bus, stream="W", consumer="c", capacity=4) as puller:
        bus.publish_nowait("w.a", b"buffered")
        await until_delivered_and_waiting(bus)
        await settle(bus)
        await call_api(bus, call)
        await settle(bus)
        assert (await puller.receive()).data == b"buffered"
        with pytest.raises(ConsumerLost):
            await puller.receive()


async def test_consumer_lost_leaves_the_puller_as_it_was_raised(server: NatsServer) -> None:
    async def serve(bus: Bus) -> None:
        async with open_puller(bus, stream="W", consumer="unknown", capacity=4) as puller:
            await puller.receive()

    async with open_ready_bus(server) as bus:
        with pytest.raises(ConsumerLost):
            await serve(bus)


async def test_a_puller_opened_before_the_broker_is_up_works_once_it_comes(server: NatsServer) -> None:
    async with open_ready_bus(server, FILE_STREAM) as first:
        first.publish_nowait("w.a", b"waiting")
        await settle(first)
    await server.stop()
    with trio.fail_after(CEILING_S):
        async with (
            open_bus(server.url, inbox="_INBOX.w1", name="test") as bus,
            open_puller(bus, stream="W", consumer="c", capacity=4) as puller,
        ):
            await server.start()
            await until(lambda: bus.session == 1)
            try:
                assert (await puller.receive()).data == b"waiting"
            except ConsumerLost:  # as above: asked before the stream was recovered
                assert bus.session == 1
