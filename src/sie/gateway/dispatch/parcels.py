"""Work items as they go on the bus (§16.2): what fits no message goes through the payload store, or not at all."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import attrs

from sie.bus.api import Bus
from sie.domain.ids import ModelId
from sie.domain.subjects import work_subject
from sie.gateway.core.routing import Routed
from sie.gateway.dispatch.publisher import Parcel
from sie.wire.work import WorkItem, encode_work

HEADER_ROOM_BYTES = 256
"""What the broker counts beside the payload: our own headers are shorter."""


@attrs.frozen
class TooLarge:
    """An item cannot be sent, so nothing was."""

    words: str


@attrs.frozen
class Parcels:
    bus: Bus

    @asynccontextmanager
    async def packed(self, routed: Routed, items: Sequence[WorkItem]) -> AsyncIterator[tuple[Parcel, ...] | TooLarge]:
        subject = work_subject(routed.lane, ModelId(routed.target.model))
        parcels = tuple(Parcel(subject, encode_work(item), item.work_item_id) for item in items)
        max_bytes = self.bus.max_payload - HEADER_ROOM_BYTES
        for index, parcel in enumerate(parcels):
            if len(parcel.data) > max_bytes:
                size = len(parcel.data)
                yield TooLarge(f"items.{index}: must be at most {max_bytes} bytes on the queue, not {size}")
                return
        yield parcels
