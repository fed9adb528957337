"""The work streams, made when first needed and once a session (§8.2): a broker that restarted may have lost them."""

import logging

import attrs
import trio

from sie.bus.api import Bus
from sie.bus.jetstream import StreamSpec, ensure_stream

log = logging.getLogger(__name__)


@attrs.define
class Streams:
    """The lock spans the calls that ensure a stream, so that a burst of first requests asks for it once."""

    bus: Bus
    _ensured: dict[str, int] = attrs.field(factory=dict)
    _lock: trio.Lock = attrs.field(factory=trio.Lock)

    def is_ensured(self, spec: StreamSpec) -> bool:
        return self._ensured.get(spec.name) == self.bus.session

    async def ensure(self, spec: StreamSpec) -> None:
        """Raises BusError when the broker cannot be asked."""
        if self.is_ensured(spec):
            return
        async with self._lock:
            session = self.bus.session
            if self._ensured.get(spec.name) == session:
                return
            ensured = await ensure_stream(self.bus, spec)
            self._ensured[spec.name] = session
        log.info("the work stream is ensured", extra={"stream": spec.name, "action": ensured.action})
        for mismatch in ensured.mismatches:
            log.warning("the work stream differs and is left alone", extra=attrs.asdict(mismatch))

    def forget(self, name: str) -> None:
        """The broker said that it does not have it."""
        self._ensured.pop(name, None)
