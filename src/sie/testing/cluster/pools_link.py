"""The gateways' pools as workers reach them (§16.3): the real HTTP client, over a faulty in-process transport."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress

import attrs
import httpx2

from sie.testing.cluster.served import Answer, AppServer, Call, ConnectionLost
from sie.worker.gate import GatewayPools, OpenPools, open_http_pools


@attrs.define(eq=False)
class PoolsLink:
    """One address for all `servers`, as a service has it: the first that is up answers.

    The next `errors` calls get a 500, and none arrives while it is `away`.
    """

    servers: Sequence[AppServer] = ()
    errors: int = 0
    away: bool = False

    def cut(self, away: bool) -> None:
        self.away = away

    def heal(self) -> None:
        self.errors = 0
        self.away = False

    def open(self) -> OpenPools:
        def open_over(url: str, token: str | None) -> AbstractAsyncContextManager[GatewayPools]:
            return open_http_pools(url, token, transport=PoolsTransport(self))

        return open_over

    async def call(self, path: str) -> Answer:
        """Raises ConnectionLost."""
        if self.away:
            raise ConnectionLost("the gateways are away")
        if self.errors:
            self.errors -= 1
            return Answer(500, {}, b"")
        for server in self.servers:
            with suppress(ConnectionLost):
                return await server.request(Call("GET", path))
        raise ConnectionLost("no gateway is up")


@attrs.frozen(eq=False)
class PoolsTransport(httpx2.AsyncBaseTransport):
    link: PoolsLink

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            answer = await self.link.call(request.url.path)
        except ConnectionLost as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        return httpx2.Response(answer.status, headers=headers, content=answer.body, request=request)
