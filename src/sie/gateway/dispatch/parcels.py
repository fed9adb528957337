"""Work items as they go on the bus (§16.2): what fits no message goes through the payload store, or not at all."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import lru_cache
from typing import TypeAlias, assert_never

import attrs
import trio
from msgspec.structs import replace

from sie.bus.api import Bus
from sie.bus.limits import header_bytes
from sie.domain.errors import ErrorCode
from sie.domain.ids import ModelId
from sie.domain.subjects import work_subject
from sie.gateway.core.offload import Inline, Offload, Refused, Room, after_failed_put, plan_large
from sie.gateway.core.routing import Routed
from sie.gateway.core.work import Planned
from sie.gateway.dispatch.payloads import Payloads
from sie.gateway.dispatch.publisher import Parcel, headers_of
from sie.wire.converters import WireError

PUTS_AT_ONCE = 16
Packed: TypeAlias = "tuple[Parcel, ...] | Refused"


@attrs.frozen
class Parcels:
    """`payloads` None: there is no store."""

    bus: Bus
    payloads: Payloads | None = None

    def packed(self, routed: Routed, work: Planned) -> AbstractAsyncContextManager[Packed]:
        """What was put aside for them lies there as long as the block lasts. Nothing is, where one item is refused."""
        aside: dict[int, Offload] = {}
        planned = self._planned(work_subject(routed.lane, ModelId(routed.target.model)), work, aside)
        return self._put_aside(planned, aside) if aside and not isinstance(planned, Refused) else nullcontext(planned)

    @asynccontextmanager
    async def _put_aside(self, planned: Sequence[Parcel], aside: dict[int, Offload]) -> AsyncIterator[Packed]:
        try:
            yield await self._settled(planned, aside)
        finally:
            if self.payloads is not None:
                self.payloads.discard_soon([plan.key for plan in aside.values()])

    def _planned(self, subject: str, work: Planned, aside: dict[int, Offload]) -> Packed:
        """The messages, in order; `aside` is filled with what has to be put before some of them."""
        room = _room(self.bus.max_payload, len(work.name(len(work) - 1)), self.payloads is not None)
        most_bytes, planned = room.inline_bytes, list[Parcel]()
        for index in range(len(work)):
            try:
                data = work.encoded(index)
                plan = None if len(data) <= most_bytes else plan_large(work.item(index), data, room)
            except WireError as error:  # a value that JSON has and msgpack has not is the client's mistake
                return Refused(ErrorCode.INVALID_INPUT, f"item {index} {error}")
            if isinstance(plan, Refused):
                return plan
            if isinstance(plan, Offload):
                aside[index] = plan
            planned.append(Parcel(subject, data if plan is None else plan.data, work.name(index)))
        return tuple(planned)

    async def _settled(self, planned: Sequence[Parcel], aside: dict[int, Offload]) -> Packed:
        settled = list(planned)
        refused = list[Refused]()
        limiter = trio.CapacityLimiter(PUTS_AT_ONCE)
        async with trio.open_nursery() as nursery:
            for index, plan in aside.items():
                nursery.start_soon(self._put, index, plan, settled, refused, limiter)
        return refused[0] if refused else tuple(settled)

    async def _put(
        self, index: int, plan: Offload, settled: list[Parcel], refused: list[Refused], limiter: trio.CapacityLimiter
    ) -> None:
        async with limiter:
            if self.payloads is not None and await self.payloads.put(plan.key, plan.payload):
                return
        match after_failed_put(plan, index):
            case Inline(whole):
                settled[index] = replace(settled[index], data=whole)
            case Refused() as problem:
                refused.append(problem)
            case other:
                assert_never(other)


@lru_cache(64)
def _room(max_payload: int, id_chars: int, has_store: bool) -> Room:
    """Of messages whose ids are so long; ids are ASCII."""
    return Room(max_payload, header_bytes(headers_of("x" * id_chars)), has_store)
