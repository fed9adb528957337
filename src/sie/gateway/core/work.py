"""From an encode request and its route to the work items that go on the bus (§16.2, wire-facts 2.2). Pure."""

import attrs

from sie.domain.ids import RequestId, RouterId
from sie.domain.subjects import result_subject
from sie.gateway.core.routing import Routed
from sie.wire.inference_api import EncodeRequest
from sie.wire.work import WorkItem


@attrs.frozen
class Ticket:
    """Who asks, and until when; times in unix seconds."""

    router: RouterId
    request: RequestId
    now_unix_s: float
    deadline_unix_s: float


def plan_encode(ticket: Ticket, routed: Routed, request: EncodeRequest) -> tuple[WorkItem, ...]:
    """One message an item, in order."""
    return tuple(
        WorkItem(
            work_item_id=f"{ticket.request}.{index}",
            request_id=ticket.request,
            item_index=index,
            total_items=len(request.items),
            operation="encode",
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
            item=item,
            output_types=request.output_types,
            instruction=request.instruction,
            is_query=request.is_query,
            options=request.options,
        )
        for index, item in enumerate(request.items)
    )
