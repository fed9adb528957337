"""An HTTP exchange as plain values, so that every handler is a function of a request and knows no server.

`sie.web.quart` serves a table of routes with Quart; another server can serve the same table.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import attrs

Headers = tuple[tuple[str, str], ...]


@attrs.frozen
class Request:
    """`headers` has lower-case names; `params` holds what the route's pattern captured, percent-decoded."""

    method: str
    path: str
    headers: Mapping[str, str]
    params: Mapping[str, str]
    body: bytes = b""


@attrs.frozen
class Reply:
    status: int
    body: bytes
    content_type: str
    headers: Headers = ()


@attrs.frozen
class Streamed:
    """A reply too large to hold in one piece: each of `chunks` is made when the one before it has been sent."""

    status: int
    chunks: Iterable[bytes]
    content_type: str
    headers: Headers = ()


Handler = Callable[[Request], Awaitable[Reply | Streamed]]
Admit = Callable[[Request], Reply | None]
"""Refuses by what stands in the head, before any of the body is read; None admits."""


def admit_all(_: Request) -> Reply | None:
    return None


@attrs.frozen
class Route:
    """`pattern` is literal but for one `{name}` (no slash) or `{name*}` (the rest of the path) at its end."""

    method: str
    pattern: str
    handler: Handler
    admit: Admit = admit_all


Send = Callable[[str], Awaitable[None]]
"""One text frame to the other side of a WebSocket; returns when it is handed to the network."""


@attrs.frozen
class SocketRoute:
    """A WebSocket that tells and does not listen: the connection ends when `handler` returns, and the other way round.

    `pattern` and `admit` are as a Route's; what `admit` refuses is answered instead of the handshake.
    """

    pattern: str
    handler: Callable[[Request, Send], Awaitable[None]]
    admit: Admit = admit_all
