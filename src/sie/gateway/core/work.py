"""From a request and its route to the work items that go on the bus (§16.2, wire-facts 2.2). Pure."""

from collections.abc import Sequence
from functools import partial
from typing import assert_never

import attrs

from sie.domain.ids import RequestId, RouterId
from sie.domain.subjects import result_subject
from sie.gateway.core.routing import Routed
from sie.wire.inference_api import EncodeRequest, ExtractRequest, InferenceRequest, ScoreRequest
from sie.wire.items import Item
from sie.wire.work import WorkItem


@attrs.frozen
class Ticket:
    """Who asks, and until when; times in unix seconds. The trace is handed on unread (§15.1)."""

    router: RouterId
    request: RequestId
    now_unix_s: float
    deadline_unix_s: float
    traceparent: str | None = None
    tracestate: str | None = None


def plan_work(ticket: Ticket, routed: Routed, request: InferenceRequest) -> tuple[WorkItem, ...]:
    """A message for each item, in order; a score is one message, since its items are ranked together."""
    match request:
        case EncodeRequest():
            return _plan_encode(ticket, routed, request)
        case ScoreRequest():
            return (_plan_score(ticket, routed, request),)
        case ExtractRequest():
            return _plan_extract(ticket, routed, request)
        case other:
            assert_never(other)


def work_item_id(request: RequestId, index: int) -> str:
    return f"{request}.{index}"


def _plan_encode(ticket: Ticket, routed: Routed, request: EncodeRequest) -> tuple[WorkItem, ...]:
    make = partial(
        _common(ticket, routed, len(request.items)),
        operation="encode",
        output_types=request.output_types,
        instruction=request.instruction,
        is_query=request.is_query,
        options=request.options,
    )
    return _each(make, ticket.request, request.items)


def _plan_score(ticket: Ticket, routed: Routed, request: ScoreRequest) -> WorkItem:
    return _common(ticket, routed, 1)(
        work_item_id=work_item_id(ticket.request, 0),
        item_index=0,
        operation="score",
        query_item=request.query,
        score_items=request.items,
        instruction=request.instruction,
        options=request.options,
    )


def _plan_extract(ticket: Ticket, routed: Routed, request: ExtractRequest) -> tuple[WorkItem, ...]:
    make = partial(
        _common(ticket, routed, len(request.items)),
        operation="extract",
        labels=request.labels,
        output_schema=request.output_schema,
        instruction=request.instruction,
        options=request.options,
    )
    return _each(make, ticket.request, request.items)


def _each(make: "partial[WorkItem]", request: RequestId, items: Sequence[Item]) -> tuple[WorkItem, ...]:
    return tuple(
        [
            make(work_item_id=work_item_id(request, index), item_index=index, item=item)
            for index, item in enumerate(items)
        ]
    )


def _common(ticket: Ticket, routed: Routed, total: int) -> "partial[WorkItem]":
    """What all items of the request share."""
    return partial(
        WorkItem,
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
