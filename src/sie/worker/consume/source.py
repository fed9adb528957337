"""Where does the work come from (§8.2)? A stream and a consumer, ensured, and a puller on them.

A worker has two: its lane's on the pool's stream, and the one that is its own.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import attrs

from sie.bus.api import Bus
from sie.bus.jetstream import ConsumerSpec, Ensured, Puller, StreamSpec, ensure_consumer, ensure_stream, open_puller
from sie.bus.streams import delete_stream, held_messages

log = logging.getLogger(__name__)

PULL_CAPACITY = 64
"""Of the lane's queue."""
OWN_CAPACITY = 16
"""Of the worker's own: less of what nobody else can take is fetched ahead."""


class WorkSource(Protocol):
    """All raise BusError; a puller raises ConsumerLost when `ensure` is needed again."""

    async def ensure(self) -> None: ...

    def open(self) -> AbstractAsyncContextManager[Puller]: ...

    async def is_empty(self) -> bool:
        """Neither waits anything there, nor is anything lent."""
        ...

    async def delete(self) -> None:
        """The stream, with all that it holds."""
        ...


@attrs.frozen
class Queue:
    """`capacity` is how many deliveries are asked for at a time; what has come is held at once, with its lease."""

    stream: StreamSpec
    consumer: ConsumerSpec
    capacity: int


OpenSource = Callable[[Bus, Queue], WorkSource]


@attrs.frozen
class JetStreamSource:
    bus: Bus
    queue: Queue

    async def ensure(self) -> None:
        _log(await ensure_stream(self.bus, self.queue.stream))
        _log(await ensure_consumer(self.bus, self.queue.consumer))

    def open(self) -> AbstractAsyncContextManager[Puller]:
        stream, consumer = self.queue.stream.name, self.queue.consumer.name
        return open_puller(self.bus, stream=stream, consumer=consumer, capacity=self.queue.capacity)

    async def is_empty(self) -> bool:
        return not await held_messages(self.bus, self.queue.stream.name)

    async def delete(self) -> None:
        await delete_stream(self.bus, self.queue.stream.name)


def _log(ensured: Ensured) -> None:
    if ensured.action != "unchanged":
        facts = {"which": ensured.name, "action": ensured.action, "changed": ensured.changed}
        log.info("a stream or consumer was ensured", extra=facts)
    for mismatch in ensured.mismatches:
        facts = {"which": ensured.name, "setting": mismatch.setting, "wanted": mismatch.wanted, "found": mismatch.found}
        log.warning("a stream or consumer differs from our settings and is left as it is", extra=facts)
