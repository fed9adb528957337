"""An HTTP exchange as plain values, so that every handler is a function of a request and knows no server.

`sie.web.quart` serves a table of routes with Quart, `sie.web.asgi` the hot ones of it with nothing between.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NoReturn

import attrs
import trio

Headers = tuple[tuple[str, str], ...]
UntilLeft = Callable[[], Awaitable[NoReturn]]
"""Waits until the client has gone, and raises ClientLeft then."""


class ClientLeft(Exception):
    """Nobody is there any more to take the reply; its handler gives back what it holds and lets this through."""


async def never_left() -> NoReturn:
    """Of a server that cancels the handler instead."""
    await trio.sleep_forever()


@attrs.frozen
class Request:
    """`headers` has lower-case names; `params` holds what the route's pattern captured, percent-decoded.

    A handler of a hot route waits by `until_left` for whatever takes long, and by that alone notices who has gone.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    params: Mapping[str, str]
    body: bytes = b""
    until_left: UntilLeft = never_left

    def with_body(self, body: bytes) -> "Request":
        return Request(self.method, self.path, self.headers, self.params, body, self.until_left)


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
