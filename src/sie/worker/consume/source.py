"""Where does the work come from (§8.2)? The pool's stream and the lane's consumer, ensured, and a puller on them."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import attrs

from sie.bus.api import Bus
from sie.bus.jetstream import ConsumerSpec, Ensured, Puller, StreamSpec, ensure_consumer, ensure_stream, open_puller

log = logging.getLogger(__name__)

PULL_CAPACITY = 64
"""Asked of the broker at a time; what has come is held at once, with its lease."""


class WorkSource(Protocol):
    """Both raise BusError; a puller raises ConsumerLost when `ensure` is needed again."""

    async def ensure(self) -> None: ...

    def open(self) -> AbstractAsyncContextManager[Puller]: ...


OpenSource = Callable[[Bus, StreamSpec, ConsumerSpec], WorkSource]


@attrs.frozen
class JetStreamSource:
    bus: Bus
    stream: StreamSpec
    consumer: ConsumerSpec

    async def ensure(self) -> None:
        _log(await ensure_stream(self.bus, self.stream))
        _log(await ensure_consumer(self.bus, self.consumer))

    def open(self) -> AbstractAsyncContextManager[Puller]:
        return open_puller(self.bus, stream=self.stream.name, consumer=self.consumer.name, capacity=PULL_CAPACITY)


def _log(ensured: Ensured) -> None:
    if ensured.action != "unchanged":
        facts = {"which": ensured.name, "action": ensured.action, "changed": ensured.changed}
        log.info("a stream or consumer was ensured", extra=facts)
    for mismatch in ensured.mismatches:
        facts = {"which": ensured.name, "setting": mismatch.setting, "wanted": mismatch.wanted, "found": mismatch.found}
        log.warning("a stream or consumer differs from our settings and is left as it is", extra=facts)
