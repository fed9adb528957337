"""The gateways' pools as workers reach them (§16.3): the real HTTP client, over a faulty in-process transport."""

from collections import deque
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress

import attrs
import httpx2
import trio

from sie.domain.ids import DEFAULT_POOL
from sie.testing.cluster.pool_calls import read_pools
from sie.testing.cluster.served import Answer, AppServer, Call, ConnectionLost
from sie.testing.cluster.weather import Spell
from sie.worker.core.gate import TRUST_S
from sie.worker.gate import GatewayPools, OpenPools, open_http_pools

MOST_READ = 32
"""Answers kept: several minutes."""


@attrs.frozen
class Reading:
    """The pools that an answer says assign this worker. It is as old as its question."""

    asked_s: float
    read_s: float
    pools: frozenset[str]


@attrs.define(eq=False)
class PoolsLink:
    """One address for all `servers`, as a service has it: the first that is up answers.

    The next `errors` calls get a 500, and none arrives while it is `away`. `worker` is whose way it is.
    """

    servers: Sequence[AppServer] = ()
    worker: str = ""
    unread: Spell | None = None
    errors: int = 0
    away: bool = False
    readings: deque[Reading] = attrs.field(factory=lambda: deque[Reading](maxlen=MOST_READ), init=False)

    def cut(self, away: bool) -> None:
        self.away = away
        if self.unread is not None:
            self.unread.begin() if away else self.unread.end()

    def forget(self) -> None:
        """A new process has read nothing."""
        self.readings.clear()

    def has_held(self, pool: str, since_s: float) -> bool:
        """Was it to believe, at some time since then, that this pool assigns it? The default one stays open."""
        if pool.lower() in ("", DEFAULT_POOL):
            return True
        ends_s = float("inf")
        for reading in reversed(self.readings):
            if pool.lower() in reading.pools and min(ends_s, reading.asked_s + TRUST_S) >= since_s:
                return True
            ends_s = reading.read_s
        return False

    def heal(self) -> None:
        self.errors = 0
        self.cut(False)

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
        asked_s = trio.current_time()
        for server in self.servers:
            with suppress(ConnectionLost):
                answer = await server.request(Call("GET", path))
                self._keep(asked_s, answer)
                return answer
        raise ConnectionLost("no gateway is up")

    def _keep(self, asked_s: float, answer: Answer) -> None:
        if answer.status == 200:
            pools = frozenset(name for name, pool in read_pools(answer.body).items() if self.worker in pool.workers)
            self.readings.append(Reading(asked_s, trio.current_time(), pools))


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
