"""Two whole gateways on one broker: who waits for work that is given up is told, and one letter is kept (§8)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import attrs
import httpx2
import trio
import trio.testing
from trio.testing import MockClock

from sie.authority.client import Authority
from sie.bus.api import Bus
from sie.bus.jetstream import ensure_consumer, ensure_stream
from sie.bus.work_streams import lane_consumer_spec
from sie.domain.subjects import health_subject, work_stream
from sie.gateway.app import World, run
from sie.gateway.settings import GatewaySettings
from sie.testing.broker.face import open_broker, open_broker_bus
from sie.testing.broker.model import Broker
from sie.wire.heartbeat import encode_heartbeat
from sie.wire.work import decode_work
from tests.bus.either import double
from tests.bus.giving_up import count_in, exhaust, letters_in, stream_spec
from tests.gateway.doubles import LANE, MODEL, ScriptedAuthority, worker
from tests.in_place import ServerInPlace, machine_in_place

CONSUMER = attrs.evolve(lane_consumer_spec(LANE), max_deliver=2, ack_wait_s=1.0)
SETTINGS = GatewaySettings(config_service_url="http://config", request_timeout_s=30.0)


@asynccontextmanager
async def open_authority(url: str, token: str | None) -> AsyncIterator[Authority]:
    assert url
    assert token is None
    yield ScriptedAuthority()


@asynccontextmanager
async def gateway(broker: Broker, start_s: float) -> AsyncIterator[httpx2.AsyncClient]:
    """`start_s` sets its ids apart from another's."""
    server, stop = ServerInPlace(), trio.Event()
    machine = machine_in_place(stop, unix_s=lambda: start_s + trio.current_time())
    machine.random.seed(start_s)
    world = World(machine, partial(open_broker_bus, broker), open_authority, server.serve)
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(run, SETTINGS, world))
        async with server.client() as client:
            yield client
        stop.set()


async def make_lane(bus: Bus) -> None:
    await bus.wait_session()
    await ensure_stream(bus, stream_spec())
    await ensure_consumer(bus, CONSUMER)
    await trio.testing.wait_all_tasks_blocked()
    bus.publish_nowait(health_subject(worker().worker), encode_heartbeat(worker()))
    await trio.testing.wait_all_tasks_blocked()


async def test_a_client_is_told_when_its_work_is_given_up_and_one_letter_is_kept(autojump_clock: MockClock) -> None:
    replies: list[httpx2.Response] = []
    async with (
        open_broker() as broker,
        gateway(broker, 1e6) as client,
        gateway(broker, 2e6),
        double(broker).bus("worker") as bus,
    ):
        await make_lane(bus)

        async def ask() -> None:
            replies.append(await client.post(f"/v1/encode/{MODEL}", json={"items": [{"text": "a"}, {"text": "b"}]}))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await exhaust(bus, 2, CONSUMER)
        assert [reply.status_code for reply in replies] == [500]
        assert "in 2 deliveries" in replies[0].text
        letters = await letters_in(bus)
        assert sorted(decode_work(letter.work or b"").item_index for letter in letters) == [0, 1]
        assert await count_in(bus, work_stream(LANE.pool)) == 0
