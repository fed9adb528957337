"""From a request and its route to the work items that go on the bus (§16.2, wire-facts 2.2). Pure."""

from collections.abc import Iterator
from functools import partial
from typing import assert_never

import msgspec

from sie.domain.ids import RequestId, RouterId
from sie.domain.subjects import result_subject
from sie.gateway.core.routing import Routed
from sie.wire.inference_api import EncodeRequest, ExtractRequest, InferenceRequest, ScoreRequest
from sie.wire.items import Item
from sie.wire.work import Stencil, WorkItem


class Ticket(msgspec.Struct, frozen=True):
    """Who asks, and until when; times in unix seconds. The trace is handed on unread (§15.1)."""

    router: RouterId
    request: RequestId
    now_unix_s: float
    deadline_unix_s: float
    traceparent: str | None = None
    tracestate: str | None = None


class Planned(msgspec.Struct, frozen=True):
    """A request's work items, one for each of `inputs`, made when asked for: most are only ever the bytes sent."""

    stencil: Stencil
    inputs: tuple[Item | None, ...]

    def __len__(self) -> int:
        return len(self.inputs)

    def __iter__(self) -> Iterator[WorkItem]:
        return map(self.item, range(len(self.inputs)))

    def name(self, index: int) -> str:
        return f"{self.stencil.first.request_id}.{index}"

    def item(self, index: int) -> WorkItem:
        return self.stencil.item(self.name(index), index, self.inputs[index])

    def encoded(self, index: int) -> bytes:
        """Raises WireError."""
        return self.stencil.encode(self.name(index), index, self.inputs[index])


def plan_work(ticket: Ticket, routed: Routed, request: InferenceRequest) -> Planned:
    """A message for each item, in order; a score is one message, since its items are ranked together."""
    match request:
        case EncodeRequest():
            return _plan_encode(ticket, routed, request)
        case ScoreRequest():
            return _plan_score(ticket, routed, request)
        case ExtractRequest():
            return _plan_extract(ticket, routed, request)
        case other:
            assert_never(other)


def _plan_encode(ticket: Ticket, routed: Routed, request: EncodeRequest) -> Planned:
    first = _first(ticket, routed, len(request.items))(
        operation="encode",
        item=request.items[0],
        output_types=request.output_types,
        instruction=request.instruction,
        is_query=request.is_query,
        options=request.options,
    )
    return Planned(Stencil.of(first), request.items)


def _plan_score(ticket: Ticket, routed: Routed, request: ScoreRequest) -> Planned:
    first = _first(ticket, routed, 1)(
        operation="score",
        query_item=request.query,
        score_items=request.items,
        instruction=request.instruction,
        options=request.options,
    )
    return Planned(Stencil.of(first), (None,))


def _plan_extract(ticket: Ticket, routed: Routed, request: ExtractRequest) -> Planned:
    first = _first(ticket, routed, len(request.items))(
        operation="extract",
        item=request.items[0],
        labels=request.labels,
        output_schema=request.output_schema,
        instruction=request.instruction,
        options=request.options,
    )
    return Planned(Stencil.of(first), request.items)


def _first(ticket: Ticket, routed: Routed, total: int) -> "partial[WorkItem]":
    """The first item, but for what is asked of it."""
    return partial(
        WorkItem,
        work_item_id=f"{ticket.request}.0",
        item_index=0,
        request_id=ticket.request,
        total_items=total,
        model_id=routed.target.model,
        profile_id=routed.target.profile,
        pool_name=routed.lane.pool,
        admission_pool=routed.pool,
        machine_profile=routed.lane.machine_profile,
        router_id=ticket.router,
        reply_subject=result_subject(ticket.router, ticket.request),
        timestamp=ticket.now_unix_s,
        deadline=ticket.deadline_unix_s,
        bundle_config_hash=routed.target.config_hash,
        accepts_result_chunks=True,
        traceparent=ticket.traceparent,
        tracestate=ticket.tracestate,
    )
