"""The broker of a simulated cluster and the wires between it and each process, with what can befall them."""

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import trio

from sie.bus.api import Bus, Message, OpenBus
from sie.bus.outbox import COMMAND_OVERHEAD_BYTES
from sie.domain.subjects import is_work_stream
from sie.testing.broker.face import open_broker, open_broker_bus
from sie.testing.broker.model import Broker
from sie.testing.broker.network import Network as Wire
from sie.testing.cluster.weather import Spell, Weather

MAX_PAYLOAD = 4096
"""Small, so that inputs and results that fit no message are cheap."""
OUTBOX_BYTES = 128 * 1024
"""Small, so that a partition can fill it; the work of the largest burst of clients has room."""


class Network:
    """Wires are known by the name of their process, and outlive its lives."""

    def __init__(self, seed: int, weather: Weather) -> None:
        self.broker = Broker(trio.current_time, choose=random.Random(seed).randrange, max_payload=MAX_PAYLOAD)
        self._weather = weather
        self._down = weather.spell("BrokerDown")
        self._wires: dict[str, Wire] = {}
        self._partitions: dict[str, Spell] = {}
        self._latencies: dict[str, Spell] = {}
        self._backlogs: dict[str, int] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with open_broker(self.broker):
            yield

    def open_bus(self, process: str) -> OpenBus:
        wire = self._wire(process)

        def open_on_wire(url: str, *, inbox: str, name: str) -> AbstractAsyncContextManager[Bus]:
            assert name
            return open_broker_bus(
                self.broker, url, inbox=inbox, name=process, network=wire, outbox_max_bytes=OUTBOX_BYTES
            )

        return open_on_wire

    def restart(self) -> None:
        """A broker that is down stays down."""
        if self.broker.is_up:
            self._weather.note("BrokerRestarts")
            self.broker.restart()

    def stop(self) -> None:
        if self.broker.is_up:
            self._down.begin()
            self.broker.stop()

    def start(self) -> None:
        if not self.broker.is_up:
            self.broker.start()
            self._down.end()

    def knows(self, process: str) -> bool:
        """Has the broker a connection of it?"""
        return any(link.name == process for link in self.broker.links)

    def cut(self, process: str) -> None:
        for link in [link for link in self.broker.links if link.name == process]:
            self.broker.disconnect(link)

    def block(self, process: str) -> None:
        self._wire(process).blocked = True
        self._backlogs[process] = 0
        self._partitions.setdefault(process, self._weather.spell("Partition")).begin()

    def unblock(self, process: str) -> None:
        self._wire(process).blocked = False
        if process in self._partitions:
            self._partitions[process].end()

    def backlog_bytes(self, process: str, message: Message) -> int:
        """What a process has sent, this message included, since nothing of it leaves: a lower bound of its outbox."""
        if not self._wire(process).blocked:
            return 0
        self._backlogs[process] += len(message.data) + COMMAND_OVERHEAD_BYTES
        return self._backlogs[process]

    def delay(self, process: str, by_s: float) -> None:
        self._wire(process).latency_s = by_s
        spell = self._latencies.setdefault(process, self._weather.spell("Latency"))
        spell.begin() if by_s else spell.end()

    def heal(self) -> None:
        self.start()
        for process in self._wires:
            self.delay(process, 0.0)
            self.unblock(process)

    def leftovers(self) -> Iterator[str]:
        """A line for each stream that holds work. Dead letters stay for their day."""
        self.broker.catch_up()
        for name, stream in self.broker.jetstream.streams.items():
            if is_work_stream(name) and len(stream):
                yield f"{name} holds {len(stream)} messages"

    def _wire(self, process: str) -> Wire:
        return self._wires.setdefault(process, Wire())
