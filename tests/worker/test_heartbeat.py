"""When a worker's heart beats: on its own, and at once for whoever asks (§8)."""

import trio
from trio.testing import MockClock

from sie.bus.api import Message
from sie.domain.worker import WorkerStatus
from sie.worker.heartbeat import Heart
from tests.worker.doubles import LANE, WORKER, ScriptedBus

ASK = "sie.ask.health "


def status(connected: bool) -> WorkerStatus:
    return WorkerStatus(WORKER, LANE, None, ready=connected)


async def test_whoever_asks_hears_at_once_and_many_who_ask_hear_one_beat(autojump_clock: MockClock) -> None:
    bus = ScriptedBus()
    heart = Heart(bus, status)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(heart.beat_forever)
        nursery.start_soon(heart.greet_sessions_forever)
        await trio.sleep(1)
        before = len(bus.heartbeats())
        for _ in range(50):
            bus.handlers[ASK](Message("sie.ask.health", b""))
        await trio.sleep(0.1)
        assert len(bus.heartbeats()) == before + 1
        nursery.cancel_scope.cancel()


async def test_nobody_is_answered_without_a_connection(autojump_clock: MockClock) -> None:
    bus = ScriptedBus(session=0)
    heart = Heart(bus, status)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(heart.beat_forever)
        nursery.start_soon(heart.greet_sessions_forever)
        await trio.sleep(1)
        bus.handlers[ASK](Message("sie.ask.health", b""))
        await trio.sleep(1)
        assert not bus.heartbeats()
        bus.connect(1)
        await trio.sleep(0.1)
        assert len(bus.heartbeats()) == 1
        nursery.cancel_scope.cancel()
