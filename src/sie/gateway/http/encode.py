"""`POST /v1/encode/{model}` (§2, §16.2): resolve, read, submit, collect, answer. Knows no server."""

from functools import partial
from typing import assert_never

import trio

from sie import __version__
from sie.domain.errors import ErrorCode
from sie.domain.ids import RequestId
from sie.gateway.core.asking import read_asked
from sie.gateway.core.outcome import Answered, Failed, Outcome, decide_outcome
from sie.gateway.core.refusing import Refused
from sie.gateway.core.routing import Provisioning, Routed, resolve
from sie.gateway.core.work import Ticket, plan_encode
from sie.gateway.dispatch.publisher import ACK_DEADLINE_S, Submitted, TooLarge, Unavailable
from sie.gateway.http.services import Services
from sie.web.bodies import Format, error_format, read_body, reply_format, request_format, write_body
from sie.web.errors import Refusal
from sie.web.routes import Headers, Reply, Request, Route
from sie.wire.converters import WireError
from sie.wire.inference_api import EncodeRequest, json_encode_reply, msgpack_encode_reply, read_encode_request
from sie.wire.result import WorkResult

MAX_ITEMS = 4096
"""Work items of one request (§16.2)."""
VERSION_HEADERS: Headers = (("X-SIE-Version", __version__), ("X-SIE-Server-Version", "0.10.1"))
"""On every reply. The second is the published release whose contract we keep, so that its clients do not warn."""


def routes(services: Services) -> tuple[Route, ...]:
    return (Route("POST", "/v1/encode/{model*}", partial(encode, services)),)


async def encode(services: Services, request: Request) -> Reply:
    request_id = RequestId(services.machine.token())
    started = trio.current_time()
    services.rate.count(started)
    answer = await _attempt(services, request_id, request)
    ids: Headers = (("X-SIE-Request-Id", request_id),)
    if isinstance(answer, Refusal):
        return answer.reply(error_format(request.headers), ids)
    headers = (*ids, *_timing(answer.results, trio.current_time() - started))
    return _success(reply_format(request.headers), request.params["model"], answer, headers)


async def _attempt(services: Services, request_id: RequestId, request: Request) -> Answered | Refusal:
    routed = _route(services, request_id, request)
    if isinstance(routed, Refusal):
        return routed
    body = _read(request)
    if isinstance(body, Refusal):
        return body
    match await _run(services, request_id, routed, body):
        case Answered() as answered:
            return answered
        case Failed(code, message, extra, retry_after_s):
            return Refusal(code, message, extra, retry_after_s)
        case other:
            assert_never(other)


def _route(services: Services, request_id: RequestId, request: Request) -> Routed | Refusal:
    asked = read_asked(request.params["model"], request.headers, services.pools.rules)
    if isinstance(asked, Refused):
        return _refusal(asked)
    now_s = trio.current_time()
    match resolve(services.facts(now_s), asked, request_id):
        case Refused() as refused:
            return _refusal(refused)
        case _ if not services.bus.session:
            return Refusal(ErrorCode.QUEUE_UNAVAILABLE, "the gateway is not connected to the broker")
        case Provisioning(spec, bundle, profile) as cold:
            services.pools.demand.record_cold(spec, now_s, profile=profile, bundle=bundle)
            return Refusal(ErrorCode.PROVISIONING, f"no worker serves {cold} yet")
        case Routed() as routed:
            return routed
        case other:
            assert_never(other)


def _refusal(refused: Refused) -> Refusal:
    return Refusal(refused.code, refused.words, refused.extra)


def _read(request: Request) -> EncodeRequest | Refusal:
    try:
        body = read_encode_request(read_body(request.body, request_format(request.headers)))
    except WireError as error:
        places = [{"loc": list(problem.loc), "message": problem.message} for problem in error.problems]
        return Refusal(ErrorCode.INVALID_REQUEST, str(error), {"errors": places})
    if not body.items:
        return Refusal(ErrorCode.INVALID_INPUT, "items: must hold at least one item")
    if len(body.items) > MAX_ITEMS:
        return Refusal(ErrorCode.TOO_MANY_ITEMS, f"items: must hold at most {MAX_ITEMS} items, not {len(body.items)}")
    return body


async def _run(services: Services, request_id: RequestId, routed: Routed, body: EncodeRequest) -> Outcome:
    """The collector lives inside this call: a client that goes away cancels it, and nothing stays behind."""
    now, timeout_s = services.machine.unix_s(), services.request_timeout_s
    items = plan_encode(Ticket(services.router, request_id, now, now + timeout_s), routed, body)
    stream = services.stream(routed.lane.pool)
    with (
        services.pending.open(request_id, len(items)) as waiting,
        services.publisher.listening(waiting, stream) as ack_subject,
    ):
        match await services.publisher.submit(waiting, routed.lane, stream, items, ack_subject):
            case Submitted():
                ending = await waiting.wait(ack_s=ACK_DEADLINE_S, timeout_s=timeout_s)
                return decide_outcome(ending, missing=waiting.collector.missing, timeout_s=timeout_s)
            case TooLarge(index, size_bytes, max_bytes):
                message = f"items.{index}: must be at most {max_bytes} bytes on the queue, not {size_bytes}"
                return Failed(ErrorCode.PAYLOAD_TOO_LARGE, message)
            case Unavailable(reason):
                return Failed(ErrorCode.QUEUE_UNAVAILABLE, f"the work could not be queued: {reason}")
            case other:
                assert_never(other)


def _success(kind: Format, model: str, answered: Answered, headers: Headers) -> Reply:
    if kind == "json":
        return write_body(json_encode_reply(model, answered.blobs, answered.errors), "json", headers=headers)
    body = msgpack_encode_reply(model, answered.blobs, answered.errors)
    return Reply(200, body, "application/msgpack", headers)


def _timing(results: tuple[WorkResult, ...], elapsed_s: float) -> Headers:
    """The worst item's times, in milliseconds with one decimal (wire-facts 4.2)."""
    always = {"X-Inference-Time": "inference_ms", "X-Queue-Time": "queue_ms"}
    if_any = {"X-Tokenization-Time": "tokenization_ms", "X-Postprocessing-Time": "postprocessing_ms"}
    worst = {name: _worst(results, field) for name, field in (always | if_any).items()}
    shown = [(name, f"{ms:.1f}") for name, ms in worst.items() if ms > 0 or name in always]
    worker = next((result.worker_id for result in results if result.worker_id), None)
    named = [("X-SIE-Worker", worker)] if worker else []
    return (*named, *shown, ("X-Total-Time", f"{elapsed_s * 1000:.1f}"))


def _worst(results: tuple[WorkResult, ...], field: str) -> float:
    return max((getattr(result, field) or 0.0 for result in results), default=0.0)
