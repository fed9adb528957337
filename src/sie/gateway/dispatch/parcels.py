"""Work items as they go on the bus (§16.2): what fits no message goes through the payload store, or not at all."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TypeAlias, assert_never

import attrs
import trio

from sie.bus.api import Bus
from sie.bus.limits import header_bytes
from sie.domain.errors import ErrorCode
from sie.domain.ids import ModelId
from sie.domain.subjects import work_subject
from sie.gateway.core.offload import Inline, Offload, Refused, Room, after_failed_put, plan_large
from sie.gateway.core.routing import Routed
from sie.gateway.dispatch.payloads import Payloads
from sie.gateway.dispatch.publisher import Parcel, headers_of
from sie.wire.converters import WireError
from sie.wire.work import WorkItem, encode_work

PUTS_AT_ONCE = 16
Packed: TypeAlias = "tuple[Parcel, ...] | Refused"


@attrs.frozen
class Parcels:
    """`payloads` None: there is no store."""

    bus: Bus
    payloads: Payloads | None = None

    def packed(self, routed: Routed, items: Sequence[WorkItem]) -> AbstractAsyncContextManager[Packed]:
        """What was put aside for them lies there as long as the block lasts. Nothing is, where one item is refused."""
        aside: dict[int, Offload] = {}
        data = self._planned(items, aside)
        if isinstance(data, Refused):
            return nullcontext(data)
        subject = work_subject(routed.lane, ModelId(routed.target.model))
        return self._put_aside(subject, items, data, aside) if aside else nullcontext(_parcels(subject, items, data))

    @asynccontextmanager
    async def _put_aside(
        self, subject: str, items: Sequence[WorkItem], planned: Sequence[bytes], aside: dict[int, Offload]
    ) -> AsyncIterator[Packed]:
        try:
            data = await self._settled(planned, aside)
            yield data if isinstance(data, Refused) else _parcels(subject, items, data)
        finally:
            if self.payloads is not None:
                self.payloads.discard_soon([plan.key for plan in aside.values()])

    def _planned(self, items: Sequence[WorkItem], aside: dict[int, Offload]) -> list[bytes] | Refused:
        """The messages, in order; `aside` is filled with what has to be put before some of them."""
        room = Room(self.bus.max_payload, header_bytes(headers_of(items[-1].work_item_id)), self.payloads is not None)
        most_bytes, planned = room.inline_bytes, list[bytes]()
        for index, item in enumerate(items):
            try:
                data = encode_work(item)
                plan = None if len(data) <= most_bytes else plan_large(item, data, room)
            except WireError as error:  # a value that JSON has and msgpack has not is the client's mistake
                return Refused(ErrorCode.INVALID_INPUT, f"item {item.item_index} {error}")
            if isinstance(plan, Refused):
                return plan
            if isinstance(plan, Offload):
                aside[index] = plan
            planned.append(data if plan is None else plan.data)
        return planned

    async def _settled(self, planned: Sequence[bytes], aside: dict[int, Offload]) -> list[bytes] | Refused:
        data = list(planned)
        refused = list[Refused]()
        limiter = trio.CapacityLimiter(PUTS_AT_ONCE)
        async with trio.open_nursery() as nursery:
            for index, plan in aside.items():
                nursery.start_soon(self._put, index, plan, data, refused, limiter)
        return refused[0] if refused else data

    async def _put(
        self, index: int, plan: Offload, data: list[bytes], refused: list[Refused], limiter: trio.CapacityLimiter
    ) -> None:
        async with limiter:
            if self.payloads is not None and await self.payloads.put(plan.key, plan.payload):
                return
        match after_failed_put(plan, index):
            case Inline(whole):
                data[index] = whole
            case Refused() as problem:
                refused.append(problem)
            case other:
                assert_never(other)


def _parcels(subject: str, items: Sequence[WorkItem], data: Sequence[bytes]) -> tuple[Parcel, ...]:
    parcels = zip(items, data, strict=True)
    return tuple([Parcel(subject, message, item.work_item_id) for item, message in parcels])
