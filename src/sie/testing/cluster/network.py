"""The broker of a simulated cluster and the wires between it and each process, with what can befall them."""

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import trio

from sie.bus.api import Bus, OpenBus
from sie.testing.broker.face import open_broker, open_broker_bus
from sie.testing.broker.model import Broker
from sie.testing.broker.network import Network as Wire


class Network:
    """Wires are known by the name of their process, and outlive its lives."""

    def __init__(self, seed: int) -> None:
        self.broker = Broker(trio.current_time, choose=random.Random(seed).randrange)
        self._wires: dict[str, Wire] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with open_broker(self.broker):
            yield

    def open_bus(self, process: str) -> OpenBus:
        wire = self._wire(process)

        def open_on_wire(url: str, *, inbox: str, name: str) -> AbstractAsyncContextManager[Bus]:
            assert name
            return open_broker_bus(self.broker, url, inbox=inbox, name=process, network=wire)

        return open_on_wire

    def restart(self) -> None:
        """A broker that is down stays down."""
        if self.broker.is_up:
            self.broker.restart()

    def stop(self) -> None:
        if self.broker.is_up:
            self.broker.stop()

    def start(self) -> None:
        if not self.broker.is_up:
            self.broker.start()

    def cut(self, process: str) -> None:
        for link in [link for link in self.broker.links if link.name == process]:
            self.broker.disconnect(link)

    def block(self, process: str) -> None:
        self._wire(process).blocked = True

    def unblock(self, process: str) -> None:
        self._wire(process).blocked = False

    def delay(self, process: str, by_s: float) -> None:
        self._wire(process).latency_s = by_s

    def heal(self) -> None:
        self.start()
        for wire in self._wires.values():
            wire.latency_s = 0.0
            wire.blocked = False

    def leftovers(self) -> Iterator[str]:
        """A line for each stream that holds work."""
        self.broker.catch_up()
        for name, stream in self.broker.jetstream.streams.items():
            if len(stream):
                yield f"{name} holds {len(stream)} messages"

    def _wire(self, process: str) -> Wire:
        return self._wires.setdefault(process, Wire())
