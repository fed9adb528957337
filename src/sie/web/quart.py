"""The one adapter to Quart: a route table becomes a Quart-Trio application, with the surface's own words for 404, 405,
413 and 500. A client that goes away cancels its handler (Quart-Trio cancels the request's nursery).
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import NoReturn

import attrs
import trio
from hypercorn.typing import ASGIReceiveCallable, ASGIReceiveEvent, ASGISendCallable, ASGISendEvent, Scope
from quart import Response, has_websocket_context
from quart import request as current
from quart import websocket as socket
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge

from sie.web.routes import Headers, Reply, Request, Route, SocketRoute, Streamed

log = logging.getLogger(__name__)

LEFTOVER_S = 30.0
"""Seconds that a client may go on sending a body which was answered already."""


@attrs.frozen
class Surface:
    """What a service answers where no handler does. `max_body_bytes` bounds every body; over it is 413."""

    max_body_bytes: int
    not_found: Callable[[Request], Reply]
    method_not_allowed: Callable[[Request, Headers], Reply]
    too_large: Callable[[Request, int], Reply]
    internal_error: Callable[[Request], Reply]
    headers: Headers = ()


@attrs.define(eq=False)
class _Exchange:
    """One request with its reply, which ends only when the client has sent all of its body, read by a handler or not.

    Hypercorn would end the connection of a client that still sends, and the task in which it does so is cancelled half
    way: the connection then stays open, and deaf. By then the client has all of the reply but its end.

    With that end Hypercorn tells the application that all is over, by which Quart-Trio cancels the request's task: the
    one in which Hypercorn is about to watch the connection for idleness. Unwatched, it would outlive a stop.
    """

    source: ASGIReceiveCallable
    sink: ASGISendCallable
    _sent: trio.Event = attrs.field(factory=trio.Event, init=False)

    async def receive(self) -> ASGIReceiveEvent:
        event = await self.source()
        if event["type"] == "http.disconnect" or not event.get("more_body", False):
            self._sent.set()
        return event

    async def send(self, event: ASGISendEvent) -> None:
        if event["type"] == "http.response.body" and not event.get("more_body", False):
            with trio.move_on_after(LEFTOVER_S):
                await self._sent.wait()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + LEFTOVER_S):
                await self.sink(event)
            return
        await self.sink(event)


class _App(QuartTrio):
    async def asgi_app(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http":
            exchange = _Exchange(receive, send)
            receive, send = exchange.receive, exchange.send
        await super().asgi_app(scope, receive, send)


def build_quart(name: str, routes: Iterable[Route], surface: Surface, sockets: Iterable[SocketRoute] = ()) -> QuartTrio:
    app = _App(name, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = surface.max_body_bytes
    app.url_map.merge_slashes = False
    app.url_map.strict_slashes = False
    for route in routes:
        app.add_url_rule(
            _quart_pattern(route.pattern),
            endpoint=f"{route.method} {route.pattern}",
            view_func=_view(route, surface),
            methods=[route.method],
            provide_automatic_options=False,
        )
    for told in sockets:
        pattern = _quart_pattern(told.pattern)
        app.add_websocket(pattern, endpoint=f"WS {told.pattern}", view_func=_socket_view(told, surface))
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
        return _response(await route.handler(head.with_body(body)), surface)

    return view


def _socket_view(route: SocketRoute, surface: Surface) -> Callable[..., Awaitable[Response | None]]:
    async def view(**params: str) -> Response | None:
        head = _request(params)
        refused = route.admit(head)
        if refused is not None:
            return _response(refused, surface)
        await socket.accept()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_ignore_what_comes)
            await route.handler(head, socket.send)
            nursery.cancel_scope.cancel()
        return None

    return view


async def _ignore_what_comes() -> NoReturn:
    """Frames that nobody takes would hide the one that says goodbye."""
    while True:
        await socket.receive()


def _register_errors(app: QuartTrio, surface: Surface) -> None:
    async def http_error(error: HTTPException) -> Response:
        return _response(_http_error(error, _request({}), surface), surface)

    async def failure(error: Exception) -> Response:
        """Anything else is a fault of ours: logged whole, told in static words (never the error's own)."""
        head = _request({})
        log.error("request failed", exc_info=error, extra={"method": head.method, "path": head.path})
        return _response(surface.internal_error(head), surface)

    app.register_error_handler(HTTPException, http_error)
    app.register_error_handler(Exception, failure)


def _http_error(error: HTTPException, request: Request, surface: Surface) -> Reply:
    if isinstance(error, MethodNotAllowed):
        allowed = sorted(error.valid_methods or ())
        return surface.method_not_allowed(request, (("Allow", ", ".join(allowed)),))
    if isinstance(error, RequestEntityTooLarge):
        return surface.too_large(request, surface.max_body_bytes)
    return surface.not_found(request)


def _request(params: Mapping[str, str]) -> Request:
    head = socket if has_websocket_context() else current
    headers = {name.lower(): value for name, value in head.headers.items()}
    return Request(head.method, head.path, headers, params)


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
