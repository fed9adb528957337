"""Payloads on their way to workers (§16.2): put before their message, deleted with their request, swept when orphaned.

A store that is away costs the requests that need it, and no others.
"""

import logging
from collections.abc import Sequence
from typing import NoReturn, assert_never

import attrs
import trio

from sie.gateway.core.offload import Inline, Offload, Plan, Refused, after_failed_put, orphans_before_s
from sie.runtime.world import Machine
from sie.storage.backend import StorageError
from sie.storage.payloads import PayloadStore
from sie.wire.payload import PayloadKey

log = logging.getLogger(__name__)

SWEEP_EVERY_S = 3600.0


@attrs.frozen
class Payloads:
    store: PayloadStore
    machine: Machine

    async def place(self, plan: Plan, item_index: int) -> bytes | Refused:
        """The message to publish. What was put stays until `forget`, also where the put was told to have failed."""
        match plan:
            case Inline(data):
                return data
            case Offload() as offload:
                return await self._put(offload, item_index)
            case Refused() as refused:
                return refused
            case other:
                assert_never(other)

    async def forget(self, keys: Sequence[PayloadKey]) -> None:
        """What cannot be deleted now is an orphan."""
        try:
            await self.machine.run_in_thread(lambda: self.store.delete(keys))
        except StorageError as error:
            log.warning("payloads could not be deleted", extra={"count": len(keys), "error": str(error)})

    async def sweep_forever(self) -> NoReturn:
        while True:
            await self.sweep_once()
            await trio.sleep(SWEEP_EVERY_S)

    async def sweep_once(self) -> None:
        before_s = orphans_before_s(now_unix_s=self.machine.unix_s())
        try:
            swept = await self.machine.run_in_thread(lambda: self.store.sweep(before_unix_s=before_s))
        except StorageError as error:
            log.warning("orphaned payloads could not be swept", extra={"error": str(error)})
        else:
            log.info("orphaned payloads are swept", extra={"count": swept})

    async def _put(self, offload: Offload, item_index: int) -> bytes | Refused:
        try:
            await self.machine.run_in_thread(lambda: self.store.put(offload.key, offload.payload))
        except StorageError as error:
            log.warning("a payload could not be put", extra={"key": offload.key, "error": str(error)})
            second = after_failed_put(offload, item_index)
            return second.data if isinstance(second, Inline) else second
        return offload.data
