"""`POST /v1/encode`, `/v1/score` and `/v1/extract` (§2, §16.2): route, read, dispatch, answer. Knows no server."""

from collections.abc import Mapping
from functools import partial
from typing import Protocol, assert_never

import attrs
import msgspec
import trio
from msgspec.structs import replace

from sie import __version__
from sie.domain.errors import ErrorCode
from sie.domain.ids import RequestId
from sie.gateway.core.asking import Asked, read_asked
from sie.gateway.core.outcome import Answered, Failed
from sie.gateway.core.refusing import Refused
from sie.gateway.core.routing import Provisioning, Routed, resolve
from sie.gateway.core.work import Ticket, plan_work
from sie.gateway.http.answers import Form, headers_of, items_reply, scores_reply
from sie.gateway.http.services import Services
from sie.web.bodies import error_format, read_body, reply_format, request_format
from sie.web.errors import Refusal
from sie.web.routes import Headers, Reply, Request, Route
from sie.wire.converters import WireError
from sie.wire.inference_api import (
    InferenceRequest,
    TooManyItems,
    read_encode_request,
    read_extract_request,
    read_score_request,
)

VERSION_HEADERS: Headers = (("X-SIE-Version", __version__), ("X-SIE-Server-Version", "0.10.1"))
"""On every reply. The second is the published release whose contract we keep, so that its clients do not warn."""
TRACE_BYTES = 512
"""A longer trace header is not handed on: W3C asks for no more of a traceparent or a tracestate."""


class Reader(Protocol):
    def __call__(self, value: object, /, *, is_json: bool) -> InferenceRequest:
        """Raises WireError."""
        ...


@attrs.frozen
class Operation:
    """What one of the three differs in."""

    read: Reader
    form: Form


OPERATIONS: Mapping[str, Operation] = {
    "encode": Operation(read_encode_request, items_reply),
    "score": Operation(read_score_request, scores_reply),
    "extract": Operation(read_extract_request, items_reply),
}


def routes(services: Services) -> tuple[Route, ...]:
    return tuple(
        Route("POST", f"/v1/{name}/{{model*}}", partial(infer, services, operation))
        for name, operation in OPERATIONS.items()
    )


async def infer(services: Services, operation: Operation, request: Request) -> Reply:
    request_id = RequestId(services.machine.token())
    started_s = trio.current_time()
    services.rate.count(started_s)
    ids: Headers = (("X-SIE-Request-Id", request_id),)
    accepted = _accepted(services, operation, request_id, request, started_s)
    if isinstance(accepted, Refusal):
        return accepted.reply(error_format(request.headers), ids)
    work = plan_work(_ticket(services, request_id, request), accepted.routed, accepted.asked)
    ended = await services.dispatcher.run(request_id, accepted.routed, work, request.leaving)
    match ended.outcome:
        case Failed(code, message, extra, retry_after_s):
            return Refusal(code, message, extra, retry_after_s).reply(error_format(request.headers), ids)
        case Answered() as answered:
            expected, total_s = accepted.routed.target.config_hash, trio.current_time() - started_s
            headers = (*ids, *headers_of(ended, answered.results, expected, total_s))
            return operation.form(reply_format(request.headers), request.params["model"], answered, headers)
        case other:
            assert_never(other)


class _Accepted(msgspec.Struct, frozen=True):
    routed: Routed
    asked: InferenceRequest


def _accepted(
    services: Services, operation: Operation, request_id: RequestId, request: Request, now_s: float
) -> _Accepted | Refusal:
    """Where it goes is judged before its body is read, and once more where the body names a profile of the model."""
    asked = read_asked(request.params["model"], request.headers, services.pools.rules)
    if isinstance(asked, Refused):
        return refusal_of(asked)
    routed = _route(services, request_id, asked, now_s)
    if isinstance(routed, Refusal):
        return routed
    body = _read(operation, request)
    if isinstance(body, Refusal):
        return body
    if body.profile is not None and ":" not in asked.serving_id:
        named = replace(asked, serving_id=f"{asked.serving_id}:{body.profile}")
        routed = _route(services, request_id, named, now_s)
    return routed if isinstance(routed, Refusal) else _Accepted(routed, body)


def _route(services: Services, request_id: RequestId, asked: Asked, now_s: float) -> Routed | Refusal:
    match resolve(services.facts(now_s), asked, request_id):
        case Refused() as refused:
            return refusal_of(refused)
        case _ if not services.bus.session:
            return Refusal(ErrorCode.QUEUE_UNAVAILABLE, "the gateway is not connected to the broker")
        case Provisioning(spec, bundle, profile) as cold:
            services.pools.demand.record_cold(spec, now_s, profile=profile, bundle=bundle)
            return Refusal(ErrorCode.PROVISIONING, f"no worker serves {cold} yet")
        case Routed() as routed:
            return routed
        case other:
            assert_never(other)


def _read(operation: Operation, request: Request) -> InferenceRequest | Refusal:
    kind = request_format(request.headers)
    try:
        body = operation.read(read_body(request.body, kind), is_json=kind == "json")
    except TooManyItems as error:
        return Refusal(ErrorCode.TOO_MANY_ITEMS, str(error))
    except WireError as error:
        places = [{"loc": list(problem.loc), "message": problem.message} for problem in error.problems]
        return Refusal(ErrorCode.INVALID_REQUEST, str(error), {"errors": places})
    if not body.items:
        return Refusal(ErrorCode.INVALID_INPUT, "items: must hold at least one item")
    return body


def refusal_of(refused: Refused) -> Refusal:
    return Refusal(refused.code, refused.words, refused.extra, refused.retry_after_s)


def _ticket(services: Services, request_id: RequestId, request: Request) -> Ticket:
    now, headers = services.machine.unix_s(), request.headers
    return Ticket(
        router=services.router,
        request=request_id,
        now_unix_s=now,
        deadline_unix_s=now + services.dispatcher.timeout_s,
        traceparent=_trace(headers, "traceparent"),
        tracestate=_trace(headers, "tracestate"),
    )


def _trace(headers: Mapping[str, str], name: str) -> str | None:
    value = headers.get(name, "")
    return value if 0 < len(value) <= TRACE_BYTES else None
