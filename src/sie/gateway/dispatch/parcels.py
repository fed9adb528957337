"""Work items as they go on the bus (§16.2): what fits no message goes through the payload store, or not at all."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias, assert_never

import attrs
import trio

from sie.bus.api import Bus
from sie.bus.limits import header_bytes
from sie.domain.errors import ErrorCode
from sie.domain.ids import ModelId
from sie.domain.subjects import work_subject
from sie.gateway.core.offload import Inline, Offload, Plan, Refused, Room, after_failed_put, plan_message
from sie.gateway.core.routing import Routed
from sie.gateway.dispatch.payloads import Payloads
from sie.gateway.dispatch.publisher import Parcel, headers_of
from sie.wire.converters import WireError
from sie.wire.work import WorkItem

PUTS_AT_ONCE = 16
Packed: TypeAlias = "tuple[Parcel, ...] | Refused"


@attrs.frozen
class Parcels:
    """`payloads` None: there is no store."""

    bus: Bus
    payloads: Payloads | None = None

    @asynccontextmanager
    async def packed(self, routed: Routed, items: Sequence[WorkItem]) -> AsyncIterator[Packed]:
        """What was put aside for them lies there as long as the block lasts. Nothing is, where one item is refused."""
        plans = self._plans(items)
        if isinstance(plans, Refused):
            yield plans
            return
        subject = work_subject(routed.lane, ModelId(routed.target.model))
        aside = {index: plan for index, plan in enumerate(plans) if isinstance(plan, Offload)}
        try:
            data = await self._settled(plans, aside) if aside else _inline(plans)
            if isinstance(data, Refused):
                yield data
            else:
                parcels = zip(items, data, strict=True)
                yield tuple(Parcel(subject, message, item.work_item_id) for item, message in parcels)
        finally:
            if aside and self.payloads is not None:
                self.payloads.discard_soon([plan.key for plan in aside.values()])

    def _plans(self, items: Sequence[WorkItem]) -> list[Inline | Offload] | Refused:
        room = Room(self.bus.max_payload, header_bytes(headers_of(items[-1].work_item_id)), self.payloads is not None)
        plans = list[Inline | Offload]()
        for item in items:
            plan = _plan(item, room)
            if isinstance(plan, Refused):
                return plan
            plans.append(plan)
        return plans

    async def _settled(self, plans: Sequence[Inline | Offload], aside: dict[int, Offload]) -> list[bytes] | Refused:
        data = [plan.data for plan in plans]
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


def _plan(item: WorkItem, room: Room) -> Plan:
    """A value that JSON has and msgpack has not is the client's mistake."""
    try:
        return plan_message(item, room)
    except WireError as error:
        return Refused(ErrorCode.INVALID_INPUT, f"item {item.item_index} {error}")


def _inline(plans: Sequence[Inline | Offload]) -> list[bytes]:
    return [plan.data for plan in plans]
