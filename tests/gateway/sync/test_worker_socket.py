"""Health mode `ws`: the gateway reads each worker's own `/ws/status` (§8, decisions), here served by wsproto."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import attrs
import pytest
import trio
import trio.testing
from trio.testing import MockClock, memory_stream_pair
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, Ping, Pong, RejectConnection, Request, TextMessage

from sie.gateway.core.fleet import Fleet
from sie.gateway.settings import GatewaySettings
from sie.gateway.sync.worker_socket import MAX_FRAME_BYTES, InvalidPlace, Place, watch_forever
from tests.gateway.doubles import open_gateway

PLACE = Place.of("http://10.0.0.7:8081/")


@attrs.define(eq=False)
class WorkerSide:
    """One connection as the worker has it."""

    stream: trio.abc.Stream
    connection: WSConnection = attrs.field(factory=lambda: WSConnection(ConnectionType.SERVER), init=False)
    target: str = ""
    heard: list[Event] = attrs.field(factory=list, init=False)

    async def accept(self) -> None:
        (request,) = await self.hear()
        assert isinstance(request, Request)
        self.target = request.target
        await self.say(AcceptConnection())

    async def hear(self) -> list[Event]:
        data = await self.stream.receive_some()
        self.connection.receive_data(bytes(data) or None)
        events = list(self.connection.events())
        self.heard += events
        return events

    async def say(self, event: Event) -> None:
        await self.stream.send_all(self.connection.send(event))

    async def beat(self, **fields: object) -> None:
        await self.say(TextMessage(data=json.dumps({"ready": True, **fields})))


@attrs.define(eq=False)
class Worker:
    """`connections` are those that were made; while `is_down` none is."""

    connections: list[WorkerSide] = attrs.field(factory=list)
    tries: int = 0
    is_down: bool = False

    async def connect(self, place: Place) -> trio.abc.Stream:
        assert place.host
        await trio.lowlevel.checkpoint()
        self.tries += 1
        if self.is_down:
            raise OSError("nobody listens there")
        ours, theirs = memory_stream_pair()
        self.connections.append(WorkerSide(theirs))
        return ours

    async def connected(self, number: int = 1) -> WorkerSide:
        await until(lambda: len(self.connections) >= number)
        side = self.connections[number - 1]
        await side.accept()
        return side


async def until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(10_000):
        while not condition():  # noqa: ASYNC110 - the clock jumps
            await trio.sleep(0.05)


@asynccontextmanager
async def watching() -> AsyncIterator[tuple[Worker, Fleet]]:
    worker, fleet = Worker(), Fleet()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch_forever, PLACE, fleet, worker.connect)
        yield worker, fleet
        nursery.cancel_scope.cancel()


def names(fleet: Fleet) -> list[str]:
    return [status.worker for status in fleet.taking_work(trio.current_time())]


async def test_a_frame_is_a_heartbeat_of_the_worker_at_that_address(autojump_clock: MockClock) -> None:
    async with watching() as (worker, fleet):
        side = await worker.connected()
        assert side.target == "/ws/status"
        await side.beat(name="w1")
        await side.beat(loaded_models=["acme/m"])
        await until(lambda: len(names(fleet)) == 2)
        told = {status.worker: status for status in fleet.heard_of(trio.current_time())}
        assert list(told) == ["10.0.0.7_8081", "w1"]
        assert {status.url for status in told.values()} == {"http://10.0.0.7:8081"}


async def test_a_connection_that_ends_is_made_again(autojump_clock: MockClock) -> None:
    async with watching() as (worker, fleet):
        first = await worker.connected()
        await first.say(CloseConnection(code=1001))
        second = await worker.connected(2)
        await second.stream.aclose()
        third = await worker.connected(3)
        await third.beat(name="w1")
        await until(lambda: names(fleet) == ["w1"])


async def test_a_worker_that_is_away_is_tried_with_a_growing_bounded_wait(autojump_clock: MockClock) -> None:
    async with watching() as (worker, fleet):
        worker.is_down = True
        await trio.sleep(600)
        assert 600 / 15 <= worker.tries <= 60
        worker.is_down = False
        await (await worker.connected()).beat(name="w1")
        await until(lambda: names(fleet) == ["w1"])


async def test_a_worker_that_refuses_is_tried_again(autojump_clock: MockClock) -> None:
    async with watching() as (worker, fleet):
        await until(lambda: bool(worker.connections))
        await worker.connections[0].hear()
        await worker.connections[0].say(RejectConnection(status_code=403))
        await (await worker.connected(2)).beat(name="w1")
        await until(lambda: names(fleet) == ["w1"])


async def test_a_silent_connection_is_given_up(autojump_clock: MockClock) -> None:
    async with watching() as (worker, _):
        await worker.connected()
        await worker.connected(2)


async def test_a_frame_that_cannot_be_read_costs_only_itself(autojump_clock: MockClock) -> None:
    async with watching() as (worker, fleet):
        side = await worker.connected()
        await side.say(TextMessage(data="no JSON"))
        await side.beat(name="w1")
        await until(lambda: names(fleet) == ["w1"])
        assert len(worker.connections) == 1


async def test_a_frame_over_the_limit_ends_the_connection(autojump_clock: MockClock) -> None:
    async with watching() as (worker, fleet):
        side = await worker.connected()
        for _ in range(2):
            await side.say(TextMessage(data="x" * (MAX_FRAME_BYTES - 1), message_finished=False))
        await (await worker.connected(2)).beat(name="w1")
        await until(lambda: names(fleet) == ["w1"])


async def test_what_is_no_websocket_is_tried_again(autojump_clock: MockClock) -> None:
    async with watching() as (worker, _):
        await until(lambda: bool(worker.connections))
        await worker.connections[0].stream.send_all(b"hello, who is there?\r\n\r\n")
        await worker.connected(2)


async def test_a_ping_is_answered(autojump_clock: MockClock) -> None:
    async with watching() as (worker, _):
        side = await worker.connected()
        await side.say(Ping(payload=b"there?"))
        (pong,) = await side.hear()
        assert isinstance(pong, Pong)
        assert bytes(pong.payload) == b"there?"


async def test_in_ws_mode_a_gateway_hears_the_listed_workers_and_not_the_broker(autojump_clock: MockClock) -> None:
    worker = Worker()
    settings = GatewaySettings(health_mode="ws", workers=("http://a:1", "https://b"))
    async with open_gateway(settings=settings, with_worker=False, connect=worker.connect) as gateway:
        for number in (1, 2):
            await (await worker.connected(number)).beat()
        await trio.testing.wait_all_tasks_blocked()
        health = (await gateway.client.get("/health")).json()
        assert "sie.health.>" not in gateway.bus.subscribed
    assert [(row["name"], row["url"]) for row in health["workers"]] == [("a_1", "http://a:1"), ("b", "https://b")]


@pytest.mark.parametrize("url", ["10.0.0.7:8081", "ftp://x", "http://", "http://x:port", "http://[::1", ""])
def test_what_is_no_workers_address_is_refused_with_its_text(url: str) -> None:
    with pytest.raises(InvalidPlace) as refused:
        Place.of(url)
    assert repr(url) in str(refused.value)


@pytest.mark.parametrize(
    ("url", "host", "port", "has_tls"),
    [("http://x:81/", "x", 81, False), ("https://x", "x", 443, True), ("http://[::1]:9", "::1", 9, False)],
)
def test_an_address_has_its_schemes_port_and_protection(url: str, host: str, port: int, has_tls: bool) -> None:
    place = Place.of(url)
    assert (place.host, place.port, place.has_tls) == (host, port, has_tls)
