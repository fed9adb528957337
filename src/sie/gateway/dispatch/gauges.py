"""How much waits in a pool's stream, and does anybody consume it (§2)? Asked of the broker at most once a second.

A request looks at what is known and waits for the broker only where nothing is known yet, or nobody consumes.
"""

import logging
from collections.abc import Mapping

import attrs
import trio

from sie.bus.api import Bus, BusError
from sie.bus.jetstream import ApiError, call_api
from sie.gateway.dispatch.streams import Streams

log = logging.getLogger(__name__)

FRESH_S = 1.0
ASK_S = 2.0
CONSUMER_WAIT_S = 2.0
"""That a worker which is heard of may be without its consumer: it makes it anew after a restart of the broker."""
LOOK_S = 0.1


@attrs.frozen
class Gauge:
    pending: int
    consumers: int
    read_s: float


@attrs.define(eq=False)
class Gauges:
    """By stream. `_asking` is the one question that is under way for each."""

    bus: Bus
    streams: Streams
    _read: dict[str, Gauge] = attrs.field(factory=dict, init=False)
    _asking: dict[str, trio.Event] = attrs.field(factory=dict, init=False)

    async def read(self, stream: str) -> Gauge | None:
        """None where the broker does not tell: publishing will say why."""
        known = self._read.get(stream)
        if known is not None and trio.current_time() - known.read_s < FRESH_S:
            return known
        return await self._refreshed(stream)

    async def consumed(self, stream: str) -> Gauge | None:
        """Once somebody consumes it; after a short wait for that, as it is."""
        now_s = trio.current_time()
        known = self._read.get(stream)
        if known is not None and known.consumers and now_s - known.read_s < FRESH_S:
            return known
        give_up_s = now_s + CONSUMER_WAIT_S
        gauge = await self.read(stream)
        while gauge is not None and not gauge.consumers and trio.current_time() < give_up_s:
            await trio.sleep(LOOK_S)
            gauge = await self._refreshed(stream)
        return gauge

    async def _refreshed(self, stream: str) -> Gauge | None:
        under_way = self._asking.get(stream)
        if under_way is not None:
            await under_way.wait()
            return self._read.get(stream)
        done = self._asking[stream] = trio.Event()
        try:
            await self._ask(stream)
        finally:
            del self._asking[stream]
            done.set()
        return self._read.get(stream)

    async def _ask(self, stream: str) -> None:
        try:
            answer = await call_api(self.bus, f"STREAM.INFO.{stream}", timeout_s=ASK_S)
        except ApiError as error:
            self.streams.forget(stream)
            self._read.pop(stream, None)
            log.info("the broker does not tell of a stream", extra={"stream": stream, "error": str(error)})
        except BusError as error:
            self._read.pop(stream, None)
            log.info("the broker cannot be asked of a stream", extra={"stream": stream, "error": str(error)})
        else:
            self._read[stream] = _gauge(answer, trio.current_time())


def _gauge(answer: Mapping[str, object], now_s: float) -> Gauge:
    state = answer.get("state")
    told = state if isinstance(state, Mapping) else {}
    return Gauge(_number(told, "messages"), _number(told, "consumer_count"), now_s)


def _number(state: Mapping[str, object], key: str) -> int:
    value = state.get(key)
    return value if isinstance(value, int) else 0
