"""An HTTP exchange as plain values, so that every handler is a function of a request and knows no server.

`sie.web.quart` serves a table of routes with Quart; another server can serve the same table.
"""

from collections.abc import Awaitable, Callable, Mapping

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


Handler = Callable[[Request], Awaitable[Reply]]


@attrs.frozen
class Route:
    """`pattern` is literal but for one `{name}` (no slash) or `{name*}` (the rest of the path) at its end."""

    method: str
    pattern: str
    handler: Handler
