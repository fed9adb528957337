"""Inputs that fit no message lie in the payload store while their request lives (§16.2). Whoever put one deletes it.

Deleting waits for nobody: it is handed to one task, which sheds what it cannot hold; the sweep finds that by its age.
"""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import NoReturn

import attrs
import trio

from sie.gateway.core.offload import orphans_before_s
from sie.runtime.service import running
from sie.runtime.world import Machine
from sie.storage.backend import StorageError
from sie.storage.payloads import PayloadStore
from sie.wire.payload import PayloadKey

log = logging.getLogger(__name__)

OpenPayloads = Callable[[str], PayloadStore]
MAX_DISCARDS = 1024
"""Requests whose payloads wait to be deleted."""
SWEEP_S = 3600.0
"""Between two looks for what other processes left behind."""
Keys = tuple[PayloadKey, ...]


@attrs.define(eq=False)
class Payloads:
    """`shed` counts what was left to the sweep."""

    store: PayloadStore
    machine: Machine
    _discards: trio.MemorySendChannel[Keys]
    shed: int = attrs.field(default=0, init=False)

    async def put(self, key: PayloadKey, data: bytes) -> bool:
        """Whether it lies there now."""
        try:
            await self.machine.run_in_thread(partial(self.store.put, key, data))
        except StorageError as error:
            log.error("an input could not be put aside", extra={"error": str(error)})
            return False
        return True

    def discard_soon(self, keys: Sequence[PayloadKey]) -> None:
        try:
            self._discards.send_nowait(tuple(keys))
        except trio.WouldBlock:
            self.shed += len(keys)

    async def sweep_forever(self) -> NoReturn:
        while True:
            before_s = orphans_before_s(now_unix_s=self.machine.unix_s())
            try:
                swept = await self.machine.run_in_thread(partial(self.store.sweep, before_unix_s=before_s))
                log.log(logging.INFO if swept else logging.DEBUG, "orphaned inputs are swept", extra={"count": swept})
            except StorageError as error:
                log.error("orphaned inputs cannot be swept", extra={"error": str(error)})
            await trio.sleep(SWEEP_S * (0.5 + self.machine.random.random()))

    async def discard_forever(self, discards: trio.MemoryReceiveChannel[Keys]) -> NoReturn:
        async for keys in discards:
            await self._discard(keys)
        raise AssertionError("the channel ends with its task")

    async def discard_rest(self, discards: trio.MemoryReceiveChannel[Keys]) -> None:
        """What waits still when the gateway ends."""
        while True:
            try:
                keys = discards.receive_nowait()
            except trio.WouldBlock:
                return
            await self._discard(keys)

    async def _discard(self, keys: Keys) -> None:
        try:
            await self.machine.run_in_thread(partial(self.store.delete, keys))
        except StorageError as error:
            log.error("inputs could not be deleted", extra={"error": str(error)})


END_S = 5.0


@asynccontextmanager
async def open_payloads(url: str | None, open_store: OpenPayloads, machine: Machine) -> AsyncIterator[Payloads | None]:
    """None without a store: then what fits no message is refused. Raises StoreConfigError."""
    if url is None:
        yield None
        return
    send, receive = trio.open_memory_channel[Keys](MAX_DISCARDS)
    payloads = Payloads(open_store(url), machine, send)
    async with running(payloads.sweep_forever, partial(payloads.discard_forever, receive)):
        yield payloads
    with trio.move_on_after(END_S):
        await payloads.discard_rest(receive)
