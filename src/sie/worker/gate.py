"""How does a worker learn of the pools that it is assigned to (§16.3)? It asks a gateway for all of them every 10 s.

What follows from them is `sie.worker.core.gate`'s; while no gateway answers, that judges by what was read before.
"""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial
from random import Random
from typing import NoReturn, Protocol

import attrs
import httpx2
import trio

from sie.authority.client import in_place
from sie.runtime.service import running
from sie.runtime.world import RunInThread
from sie.wire.pool_listing import ListedPool, read_listing
from sie.worker.core.gate import Gate

log = logging.getLogger(__name__)

POLL_S = 10.0
JITTER = 0.1
"""The part of an interval by which a wait may be shorter, so that workers do not ask in step."""
LEAST_S = 1.0
"""Between two polls, however often work comes for a pool that is not known."""
CALL_TIMEOUT_S = 5.0
"""For a whole call; httpx2's own timeout is for each read, and so has no bound against a trickle."""
MAX_BYTES = 32 * 1024 * 1024
"""Of one answer: a thousand pools of three hundred workers each."""
PATH = "/v1/pools"


class PoolsUnread(Exception):
    """The pools could not be read; the message says why."""


class GatewayPools(Protocol):
    async def read_pools(self) -> tuple[ListedPool, ...]:
        """Raises PoolsUnread."""
        ...


OpenPools = Callable[[str, str | None], AbstractAsyncContextManager[GatewayPools]]
"""From a gateway's URL and an inference token to a client."""
AskSoon = Callable[[], None]


@asynccontextmanager
async def open_http_pools(
    url: str,
    token: str | None,
    *,
    transport: httpx2.AsyncBaseTransport | None = None,
    run_in_thread: RunInThread = in_place,
    max_bytes: int = MAX_BYTES,
) -> AsyncIterator[GatewayPools]:
    """`token` is sent as a bearer where there is one. Proxies of the environment never see it.

    `transport` stands in for the network; answers are read by `run_in_thread`, since they may be large.
    """
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    async with httpx2.AsyncClient(
        base_url=url, headers=headers, timeout=CALL_TIMEOUT_S, transport=transport, trust_env=False
    ) as client:
        yield _HttpPools(client, run_in_thread, max_bytes)


@attrs.frozen
class _HttpPools:
    client: httpx2.AsyncClient
    run_in_thread: RunInThread
    max_bytes: int

    async def read_pools(self) -> tuple[ListedPool, ...]:
        try:
            with trio.fail_after(CALL_TIMEOUT_S):
                parts = await self._read()
            return await self.run_in_thread(partial(read_listing, parts))
        except (httpx2.HTTPError, trio.TooSlowError, ValueError) as error:
            raise PoolsUnread(f"GET {PATH}: {str(error) or type(error).__name__}") from error

    async def _read(self) -> list[bytes]:
        parts, size = list[bytes](), 0
        async with self.client.stream("GET", PATH) as response:
            response.raise_for_status()
            async with aclosing(response.aiter_bytes()) as body:
                async for part in body:
                    parts.append(part)
                    if (size := size + len(part)) > self.max_bytes:
                        raise PoolsUnread(f"GET {PATH}: the answer has more than {self.max_bytes} bytes")
        return parts


@attrs.define(eq=False)
class GatePoll:
    """`told` is called after each poll, whether it was answered or not: time passes for what is known, too."""

    pools: GatewayPools
    gate: Gate
    random: Random
    told: Callable[[], None]
    _is_away: bool = attrs.field(default=False, init=False)
    _asked: trio.Event = attrs.field(factory=trio.Event, init=False)

    def ask_soon(self) -> None:
        self._asked.set()

    async def poll_forever(self) -> NoReturn:
        while True:
            await self.poll_once()
            self.told()
            await self._wait()

    async def poll_once(self) -> None:
        """What is read is as old as the question."""
        asked_s = trio.current_time()
        try:
            pools = await self.pools.read_pools()
        except PoolsUnread as error:
            self._say_away(error)
        else:
            self._say_back()
            self.gate.receive(pools, now_s=asked_s)

    async def _wait(self) -> None:
        await trio.sleep(LEAST_S)
        with trio.move_on_after(POLL_S * (1.0 - JITTER * self.random.random()) - LEAST_S):
            await self._asked.wait()
        self._asked = trio.Event()

    def _say_away(self, error: PoolsUnread) -> None:
        """Once, however long it lasts."""
        if not self._is_away:
            log.warning("the gateway's pools cannot be read", extra={"error": str(error)})
        self._is_away = True

    def _say_back(self) -> None:
        if self._is_away:
            log.info("the gateway's pools can be read again")
        self._is_away = False


@asynccontextmanager
async def polled(
    gate: Gate, opened: AbstractAsyncContextManager[GatewayPools] | None, random: Random, told: Callable[[], None]
) -> AsyncIterator[AskSoon]:
    """`gate` is kept up to date meanwhile, by `opened` where there is a gateway to ask."""
    if opened is None:
        yield _ask_nobody
        return
    async with opened as pools:
        poll = GatePoll(pools, gate, random, told)
        async with running(poll.poll_forever):
            yield poll.ask_soon


def _ask_nobody() -> None:
    return
