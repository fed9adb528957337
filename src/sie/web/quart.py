"""The one adapter to Quart: a route table becomes a Quart-Trio application, with the surface's own words for 404, 405,
413 and 500. A client that goes away cancels its handler (Quart-Trio cancels the request's nursery).
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping

import attrs
from quart import Response
from quart import request as current
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge

from sie.web.routes import Headers, Reply, Request, Route, Streamed

log = logging.getLogger(__name__)


@attrs.frozen
class Surface:
    """What a service answers where no handler does. `max_body_bytes` bounds every body; over it is 413."""

    max_body_bytes: int
    not_found: Callable[[Request], Reply]
    method_not_allowed: Callable[[Request, Headers], Reply]
    too_large: Callable[[Request, int], Reply]
    internal_error: Callable[[Request], Reply]
    headers: Headers = ()


def build_quart(name: str, routes: Iterable[Route], surface: Surface) -> QuartTrio:
    app = QuartTrio(name, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = surface.max_body_bytes
    app.url_map.merge_slashes = False
    app.url_map.strict_slashes = False
    for route in routes:
        app.add_url_rule(
            _quart_pattern(route.pattern),
            endpoint=f"{route.method} {route.pattern}",
            view_func=_view(route, surface),
            methods=[route.method],
        )
    _register_errors(app, surface)
    return app


def _view(route: Route, surface: Surface) -> Callable[..., Awaitable[Response]]:
    async def view(**params: str) -> Response:
        head = _request(params)
        refused = route.admit(head)
        if refused is not None:
            return _response(refused, surface)
        raw = await current.get_data(as_text=False)
        body = raw.encode() if isinstance(raw, str) else raw
        return _response(await route.handler(attrs.evolve(head, body=body)), surface)

    return view


def _register_errors(app: QuartTrio, surface: Surface) -> None:
    async def http_error(error: HTTPException) -> Response:
        return _response(_http_error(error, _request({}), surface), surface)

    async def failure(error: Exception) -> Response:
        """Anything else is a fault of ours: logged whole, told in static words (never the error's own)."""
        log.error("request failed", exc_info=error, extra={"method": current.method, "path": current.path})
        return _response(surface.internal_error(_request({})), surface)

    app.register_error_handler(HTTPException, http_error)
    app.register_error_handler(Exception, failure)


def _http_error(error: HTTPException, request: Request, surface: Surface) -> Reply:
    if isinstance(error, MethodNotAllowed):
        allowed = sorted(set(error.valid_methods or ()) - {"OPTIONS"})
        return surface.method_not_allowed(request, (("Allow", ", ".join(allowed)),))
    if isinstance(error, RequestEntityTooLarge):
        return surface.too_large(request, surface.max_body_bytes)
    return surface.not_found(request)


def _request(params: Mapping[str, str]) -> Request:
    headers = {name.lower(): value for name, value in current.headers.items()}
    return Request(current.method, current.path, headers, params)


def _response(reply: Reply | Streamed, surface: Surface) -> Response:
    body = _sent_one_by_one(reply.chunks) if isinstance(reply, Streamed) else reply.body
    response = Response(body, status=reply.status, content_type=reply.content_type)
    for name, value in (*surface.headers, *reply.headers):
        response.headers[name] = value
    return response


async def _sent_one_by_one(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def _quart_pattern(pattern: str) -> str:
    head, brace, rest = pattern.partition("{")
    if not brace:
        return pattern
    name = rest.removesuffix("}")
    return f"{head}<path:{name[:-1]}>" if name.endswith("*") else f"{head}<{name}>"
