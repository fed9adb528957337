"""The endpoint's routes as an application, and Hypercorn under it. Imported only where there is an endpoint."""

from collections.abc import Iterable

import trio

from sie.domain.errors import ErrorCode
from sie.web.bodies import text_reply
from sie.web.errors import Refusal
from sie.web.quart import Surface, build_quart
from sie.web.routes import Headers, Reply, Request, Route, SocketRoute
from sie.web.server import serve_hypercorn

MAX_BODY_BYTES = 64 * 1024
"""Nothing here takes a body."""
UNREAD_S = 2.0
"""Who takes in nothing for longer is cut off: the worker's end waits for nobody."""


def not_found(request: Request) -> Reply:
    return Refusal(ErrorCode.NOT_FOUND, f"there is no path {request.path}").reply()


def method_not_allowed(request: Request, headers: Headers) -> Reply:
    message = f"{request.method} is not taken on {request.path}"
    return Refusal(ErrorCode.METHOD_NOT_ALLOWED, message, headers=headers).reply()


def too_large(_: Request, max_bytes: int) -> Reply:
    return Refusal(ErrorCode.PAYLOAD_TOO_LARGE, f"the body must be at most {max_bytes} bytes").reply()


def internal_error(_: Request) -> Reply:
    return text_reply("the worker failed; its log says how", status=500)


SURFACE = Surface(
    max_body_bytes=MAX_BODY_BYTES,
    not_found=not_found,
    method_not_allowed=method_not_allowed,
    too_large=too_large,
    internal_error=internal_error,
)


async def serve(
    routes: Iterable[Route],
    sockets: Iterable[SocketRoute],
    *,
    host: str,
    port: int,
    stop: trio.Event,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    app = build_quart("sie-worker", routes, SURFACE, sockets)
    await serve_hypercorn(app, host=host, port=port, stop=stop, unread_s=UNREAD_S, task_status=task_status)
