"""Hot routes as bare ASGI, before an application that takes the rest: what `sie.web.quart` would do with them, for
a small part of its cost. A request that is not clearly for one of them is the other application's.

A client that goes away is told to its handler by `Request.leaving`. A server that has a `Leaving` among its scope's
extensions, as `sie.leaving`, tells it there; for any other one a task waits for the client, at several times the price.
"""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache

import attrs
import trio
from hypercorn.typing import ASGIFramework, ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope
from msgspec.structs import replace

from sie.web.quart import LEFTOVER_S, Surface
from sie.web.routes import ClientLeft, Headers, Leaving, Reply, Request, Route, Streamed

log = logging.getLogger(__name__)

RawHeaders = tuple[tuple[bytes, bytes], ...]
LEAVING = "sie.leaving"
NAMES = 256
"""Of headers that replies have, which are few."""


@attrs.frozen
class Hot:
    """A route that takes the rest of a path, which is the parameter `name`."""

    prefix: str
    name: str
    route: Route

    @classmethod
    def of(cls, route: Route) -> "Hot":
        prefix, _, name = route.pattern.partition("{")
        if not name.endswith("*}"):
            raise ValueError(f"{route.pattern} does not take the rest of a path")
        return cls(prefix, name.removesuffix("*}"), route)

    def rest_of(self, method: str, path: str) -> str | None:
        """None where it is not clearly this route's."""
        rest = path[len(self.prefix) :] if path.startswith(self.prefix) and method == self.route.method else ""
        return rest if rest and rest[0] != "/" and rest[-1] != "/" else None


def with_hot_routes(app: ASGIFramework, routes: Iterable[Route], surface: Surface) -> ASGIFramework:
    """`app` serves all else; it may have these routes, too."""
    return _HotApp(app, tuple(map(Hot.of, routes)), surface, _raw(surface.headers)).serve


@attrs.frozen(eq=False)
class _HotApp:
    app: ASGIFramework
    hot: tuple[Hot, ...]
    surface: Surface
    headers: RawHeaders

    async def serve(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http":
            method, path = scope["method"], scope["path"]
            for hot in self.hot:
                rest = hot.rest_of(method, path)
                if rest is not None:
                    body = _Body(receive)
                    head = Request(method, path, _headers(scope), {hot.name: rest}, b"", _leaving(scope))
                    await self._serve(hot.route, head, body, send)
                    return
        await self.app(scope, receive, send)

    async def _serve(self, route: Route, head: Request, body: "_Body", send: ASGISendCallable) -> None:
        reply = await self._reply(route, head, body)
        if reply is None:
            return
        chunks = reply.chunks if isinstance(reply, Streamed) else (reply.body,)
        size = (("Content-Length", str(len(reply.body))),) if isinstance(reply, Reply) else ()
        headers = (*_raw((("Content-Type", reply.content_type), *size, *reply.headers)), *self.headers)
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        if body.is_over and isinstance(reply, Reply):
            await send({"type": "http.response.body", "body": reply.body, "more_body": False})
            return
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await body.drain()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _reply(self, route: Route, head: Request, body: "_Body") -> Reply | Streamed | None:
        """None where nobody is there to take one."""
        try:
            refused = route.admit(head)
            if refused is not None:
                return refused
            whole = await body.read(head.headers, self.surface.max_body_bytes)
            if whole is None:
                return self.surface.too_large(head, self.surface.max_body_bytes)
            request = head.with_body(whole)
            return await (route.handler(request) if request.leaving is not None else _watched(route, request, body))
        except ClientLeft:
            return None
        except Exception as error:  # a fault of ours: logged whole, told in static words (never the error's own)
            log.error("request failed", exc_info=error, extra={"method": head.method, "path": head.path})
            return self.surface.internal_error(head)


@attrs.define(eq=False)
class _Body:
    """What the client sends, and `is_over` once it has sent all of it or left."""

    receive: ASGIReceiveCallable
    is_over: bool = False

    async def read(self, headers: Mapping[str, str], most: int) -> bytes | None:
        """None where it is longer than that, told by its head or by what has come of it. Raises ClientLeft."""
        told = headers.get("content-length", "")
        if told.isdecimal() and int(told) > most:
            return None
        first = await self._next()
        if self.is_over:
            return first if len(first) <= most else None
        parts, size = [first], len(first)
        while size <= most and not self.is_over:
            parts.append(await self._next())
            size += len(parts[-1])
        return b"".join(parts) if size <= most else None

    async def watch(self, leaving: Leaving) -> None:
        with suppress(ClientLeft):
            while True:
                await self._next()
        leaving.gone()

    async def drain(self) -> None:
        """As Hypercorn needs it of a client that still sends (`sie.web.quart`). For a bounded time."""
        with trio.move_on_after(LEFTOVER_S):
            while not self.is_over:
                try:
                    await self._next()
                except ClientLeft:
                    return

    async def _next(self) -> bytes:
        """The body's next part; after its end nothing comes. Raises ClientLeft."""
        event = await self.receive()
        if event["type"] == "http.disconnect":
            self.is_over = True
            raise ClientLeft
        if event["type"] != "http.request":
            raise ValueError(f"a server told {event['type']} in the middle of a request")
        self.is_over = not event.get("more_body", False)
        return event.get("body", b"")


async def _watched(route: Route, request: Request, body: _Body) -> Reply | Streamed:
    """As the handler ends. One that listens to nobody is cancelled when its client goes. Raises ClientLeft."""
    leaving, reply, failure = Leaving(), None, None
    async with trio.open_nursery() as nursery:
        leaving.listen(nursery.cancel_scope.cancel)
        nursery.start_soon(body.watch, leaving)
        try:
            reply = await route.handler(replace(request, leaving=leaving))
        except Exception as error:  # raised below: it would leave the nursery in a group
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if reply is None:
        raise ClientLeft
    return reply


def _leaving(scope: HTTPScope) -> Leaving | None:
    extensions: Mapping[str, object] = scope.get("extensions") or {}
    told = extensions.get(LEAVING)
    return told if isinstance(told, Leaving) else None


def _headers(scope: HTTPScope) -> Mapping[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _raw(headers: Headers) -> RawHeaders:
    """Values are looked at in one go, for there are a dozen of them."""
    values = "".join([value for _, value in headers])
    if "\n" in values or "\r" in values:
        raise ValueError(f"no header can hold one of {headers!r}")
    return tuple([(_raw_name(name), value.encode()) for name, value in headers])


@lru_cache(NAMES)
def _raw_name(name: str) -> bytes:
    return name.lower().encode("latin-1")
