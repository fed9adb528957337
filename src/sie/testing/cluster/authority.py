"""The config service as gateways and workers reach it: the real HTTP client over a faulty in-process transport."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import attrs
import httpx2
import trio

from sie.authority.client import Authority, OpenAuthority, open_http_authority
from sie.testing.cluster.served import AppServer, Call, ConnectionLost

EXPORT_PATH = "/v1/configs/export"


@attrs.define(eq=False)
class AuthorityLink:
    """The way to the config service. The next `errors` calls get a 500; every call takes `delay_s` longer.

    `read_edition` is the edition of the catalogue that was last read to its end, at `read_s`; 0 before that.
    """

    server: AppServer
    served_edition: Callable[[], int]
    read_edition: int = 0
    read_s: float = 0.0
    errors: int = 0
    delay_s: float = 0.0

    def heal(self) -> None:
        self.errors = 0
        self.slow_down(0.0)

    def slow_down(self, by_s: float) -> None:
        self.delay_s = by_s

    def open(self) -> OpenAuthority:
        return partial(_open, self)


def _open(link: AuthorityLink, base_url: str, token: str | None) -> AbstractAsyncContextManager[Authority]:
    return _open_over(AuthorityTransport(link), base_url, token)


@asynccontextmanager
async def _open_over(transport: httpx2.AsyncBaseTransport, url: str, token: str | None) -> AsyncIterator[Authority]:
    async with open_http_authority(url, token, transport=transport) as authority:
        yield authority


class AuthorityTransport(httpx2.AsyncBaseTransport):
    def __init__(self, link: AuthorityLink) -> None:
        self._link = link

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        link = self._link
        await trio.sleep(link.delay_s)
        if link.errors:
            link.errors -= 1
            return httpx2.Response(500, request=request)
        try:
            answer = await link.server.request(Call(request.method, request.url.path))
        except ConnectionLost as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        if answer.status == 200 and request.url.path == EXPORT_PATH:
            link.read_edition, link.read_s = link.served_edition(), trio.current_time()
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        return httpx2.Response(answer.status, headers=headers, content=answer.body, request=request)
