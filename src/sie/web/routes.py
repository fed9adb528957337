"""An HTTP exchange as plain values, so that every handler is a function of a request and knows no server.

`sie.web.quart` serves a table of routes with Quart, `sie.web.asgi` the hot ones of it with nothing between. What is
made for every request is a struct of msgspec, at a fraction of what a frozen class of attrs costs.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import attrs
import msgspec

Headers = tuple[tuple[str, str], ...]


class ClientLeft(Exception):
    """Nobody is there any more to take the reply; its handler gives back what it holds and lets this through."""


@attrs.define(eq=False)
class Leaving:
    """Whether the client has gone. Whoever sees it go says so here, once or more often; whoever waits is called."""

    is_gone: bool = False
    _call: Callable[[], None] | None = None

    def listen(self, call: Callable[[], None]) -> None:
        """It is called at once where that has happened already, and instead of any that was to be called."""
        self._call = call
        if self.is_gone:
            call()

    def gone(self) -> None:
        if not self.is_gone:
            self.is_gone = True
            if self._call is not None:
                self._call()


class Request(msgspec.Struct, frozen=True):
    """`headers` has lower-case names; `params` holds what the route's pattern captured, percent-decoded.

    Without `leaving` the server cancels a handler whose client goes away; with it the handler listens there, and raises
    ClientLeft.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    params: Mapping[str, str]
    body: bytes = b""
    leaving: Leaving | None = None

    def with_body(self, body: bytes) -> "Request":
        return Request(self.method, self.path, self.headers, self.params, body, self.leaving)


class Reply(msgspec.Struct, frozen=True):
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
