"""Inputs that lie in the payload store are fetched before their work is held (§16.2), off the loop and timed."""

from typing import assert_never

import attrs
import trio

from sie.domain.errors import ErrorCode
from sie.runtime.world import RunInThread
from sie.storage.backend import StorageError
from sie.storage.payloads import PayloadStore, PayloadTooLarge
from sie.wire.payload import PayloadKey
from sie.wire.work import WorkItem
from sie.worker.core.accept import Nak, Refuse
from sie.worker.core.offloaded import Carried, Fetch, judge_payload, unavailable, with_payload

STORE_NAK_S = 5.0
"""Time for a payload store that failed to come back; deliveries are counted, so this ends too."""


@attrs.frozen
class Fetched:
    """Work with its input. `payload_fetch_ms` None: nothing was fetched."""

    work: WorkItem
    payload_bytes: int = 0
    payload_fetch_ms: float | None = None


@attrs.frozen
class Payloads:
    store: PayloadStore | None
    run_in_thread: RunInThread

    async def fetch(self, work: WorkItem) -> Fetched | Refuse | Nak:
        match judge_payload(work):
            case Carried():
                return Fetched(work)
            case Fetch(key):
                return await self._fetch(work, key)
            case Refuse() as refused:
                return refused
            case other:
                assert_never(other)

    async def _fetch(self, work: WorkItem, key: PayloadKey) -> Fetched | Refuse | Nak:
        store, began_s = self.store, trio.current_time()
        if store is None:
            return unavailable("its worker has no payload store")
        try:
            payload = await self.run_in_thread(lambda: store.get(key))
        except PayloadTooLarge as error:
            return Refuse(ErrorCode.PAYLOAD_TOO_LARGE, str(error))
        except StorageError as error:
            return Nak(STORE_NAK_S, f"the payload store failed: {error}")
        whole = with_payload(work, payload)
        if not isinstance(whole, WorkItem):
            return whole
        return Fetched(whole, len(payload or b""), (trio.current_time() - began_s) * 1000)
