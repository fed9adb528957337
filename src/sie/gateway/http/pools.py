"""How do tenants hold capacity (§14, §16.3, wire-facts 4.4)? `/v1/pools`: list, create, get, renew, delete.

A create names what is held already to change and renew it. Replies are JSON, as the published client asks for them.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial

import orjson

from sie.domain.errors import ErrorCode
from sie.domain.ids import PoolName
from sie.domain.pool import InvalidPool, PoolSpec, logical_pool_name
from sie.gateway.core.pool_rules import judge_pool, protected
from sie.gateway.core.pool_view import ShownPool
from sie.gateway.core.refusing import Refused
from sie.gateway.http.services import Services
from sie.gateway.pools.api import StoreAway
from sie.web.bodies import JSON_TYPE, json_reply, read_body, request_format
from sie.web.errors import Refusal
from sie.web.routes import Reply, Request, Route, Streamed
from sie.wire.converters import WireError
from sie.wire.pools_api import pool_document, read_pool

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 64 * 1024
"""Of one spec: more than the bounds of its fields let it need, and little enough for where pools are kept."""
MAX_POOLS = 4096
"""Of a cluster, its own among them; gateways that make the last ones at the same moment may pass it by a few."""
RENEW = "/renew"

Change = Callable[[Services, Request], Awaitable[Reply]]


def routes(services: Services) -> tuple[Route, ...]:
    return (
        Route("GET", "/v1/pools", partial(pools, services)),
        Route("POST", "/v1/pools", partial(_changing, create, services)),
        Route("GET", "/v1/pools/{pool}", partial(pool, services)),
        Route("DELETE", "/v1/pools/{pool}", partial(_changing, delete, services)),
        Route("POST", "/v1/pools/{action*}", partial(_changing, renew, services)),
    )


async def pools(services: Services, _: Request) -> Streamed:
    """One pool at a time: many of them may hold many workers."""
    return Streamed(200, _rows(services.pools.view.all_shown(services.machine.unix_s())), JSON_TYPE)


async def create(services: Services, request: Request) -> Reply:
    spec = _spec_of(services, request)
    if isinstance(spec, Refusal):
        return spec.reply()
    kept = await services.pools.store.put(spec, services.machine.unix_s())
    log.info("a pool is held", extra={"pool": spec.name, "queue_pool": spec.queue_pool, "until_s": kept.expires_s})
    return _told(services, spec.name, status=201)


async def pool(services: Services, request: Request) -> Reply:
    name = _known(services, request.params["pool"])
    return name.reply() if isinstance(name, Refusal) else _told(services, name, status=200)


async def renew(services: Services, request: Request) -> Reply:
    action = request.params["action"]
    if not action.endswith(RENEW):
        return Refusal(ErrorCode.NOT_FOUND, f"there is no path {request.path} for POST").reply()
    name = _known(services, action.removesuffix(RENEW))
    if isinstance(name, Refusal):
        return name.reply()
    if not _is_protected(services, name) and await services.pools.store.renew(name, services.machine.unix_s()) is None:
        return _missing(name).reply()
    return json_reply({"message": "Pool renewed"})


async def delete(services: Services, request: Request) -> Reply:
    name = _known(services, request.params["pool"])
    if isinstance(name, Refusal):
        return name.reply()
    if _is_protected(services, name):
        return _refusal(protected(name)).reply()
    if not await services.pools.store.delete(name):
        return _missing(name).reply()
    log.info("a pool is deleted", extra={"pool": name})
    return json_reply({"message": "Pool deleted"})


async def _changing(change: Change, services: Services, request: Request) -> Reply:
    try:
        return await change(services, request)
    except StoreAway as error:
        log.warning("pools cannot be changed", extra={"error": str(error)})
        words = f"pools cannot be changed now, and whether this change took effect is unknown: {error}"
        return Refusal(ErrorCode.POOL_STORE_UNAVAILABLE, words).reply()


def _spec_of(services: Services, request: Request) -> PoolSpec | Refusal:
    size = len(request.body)
    if size > MAX_BODY_BYTES:
        return Refusal(ErrorCode.PAYLOAD_TOO_LARGE, f"a pool must be at most {MAX_BODY_BYTES} bytes, not {size}")
    try:
        spec = read_pool(read_body(request.body, request_format(request.headers)))
    except WireError as error:
        return Refusal(ErrorCode.INVALID_REQUEST, str(error))
    view = services.pools.view
    if len(view) >= MAX_POOLS and view.find(spec.name) is None:
        words = f"the pool {spec.name!r} cannot be made: at most {MAX_POOLS} pools are kept, and {len(view)} are there"
        return Refusal(ErrorCode.TOO_MANY_POOLS, words)
    judged = judge_pool(spec, services.pools.rules, services.registry.snapshot)
    return _refusal(judged) if isinstance(judged, Refused) else judged


def _known(services: Services, text: str) -> PoolName | Refusal:
    """The pool of that name; one that can be no pool's name is none's."""
    try:
        name = logical_pool_name(text)
    except InvalidPool:
        return _missing(text)
    return name if services.pools.view.find(name) is not None else _missing(name)


def _is_protected(services: Services, name: PoolName) -> bool:
    found = services.pools.view.find(name)
    return found is not None and found.is_protected


def _told(services: Services, name: PoolName, *, status: int) -> Reply:
    shown = services.pools.view.shown(name, services.machine.unix_s())
    return _missing(name).reply() if shown is None else json_reply(_document(shown), status=status)


def _document(shown: ShownPool) -> object:
    return pool_document(shown.pool, shown.state, shown.assignment.workers)


def _rows(shown: Iterable[ShownPool]) -> Iterator[bytes]:
    yield b'{"pools":['
    for index, one in enumerate(shown):
        yield (b"," if index else b"") + orjson.dumps(_document(one))
    yield b"]}"


def _missing(name: str) -> Refusal:
    return Refusal(ErrorCode.POOL_NOT_FOUND, f"Pool not found: {name}", {"pool": name})


def _refusal(refused: Refused) -> Refusal:
    return Refusal(refused.code, refused.words, refused.extra)
