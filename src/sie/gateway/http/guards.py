"""Access as the endpoints apply it (§13): each route of the table gets its check, asked before any body is read."""

from collections.abc import Callable, Iterable

import attrs

from sie.gateway.core.access import Access, judge_access
from sie.web.errors import Refusal
from sie.web.routes import Reply, Request, Route, SocketRoute

Admitting = Callable[[Request], Reply | None]


def admitting(access: Access) -> Admitting:
    def admit(request: Request) -> Reply | None:
        denied = judge_access(access, request.method, request.path, request.headers)
        if denied is None:
            return None
        asks = (("WWW-Authenticate", "Bearer"),) if denied.code.value == "UNAUTHORIZED" else ()
        return Refusal(denied.code, denied.words, headers=asks).reply()

    return admit


def guarded(routes: Iterable[Route], admit: Admitting) -> tuple[Route, ...]:
    return tuple(attrs.evolve(route, admit=admit) for route in routes)


def guarded_sockets(routes: Iterable[SocketRoute], admit: Admitting) -> tuple[SocketRoute, ...]:
    return tuple(attrs.evolve(route, admit=admit) for route in routes)
