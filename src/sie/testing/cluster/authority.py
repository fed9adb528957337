"""The config service as gateways and workers reach it: the real HTTP client over a faulty in-process transport."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import attrs
import httpx2
import trio

from sie.authority.client import Authority, OpenAuthority, open_http_authority
from sie.testing.cluster.exported import NOTHING, Exported
from sie.testing.cluster.served import Answer, AppServer, Call, ConnectionLost

EXPORT_PATH = "/v1/configs/export"
EPOCH_PATH = "/v1/configs/epoch"


@attrs.define(eq=False)
class AuthorityLink:
    """The way to the config service. The next `errors` calls get a 500, and so do the next `export_errors` exports; the
    next `spoiled` ones have rows that nobody can read. Calls take `delay_s` longer; none arrives while it is `away`.

    `read` is the export that was last read to its end, at `read_s`, after the epoch was asked for at `covered_s`.
    `is_partial`: one with a spoiled row has come since.
    """

    server: AppServer
    on_export: Callable[[bytes], Exported]
    read: Exported = NOTHING
    read_s: float = float("-inf")
    covered_s: float = float("-inf")
    exports: int = 0
    held: dict[str, float] = attrs.field(factory=dict)
    """Each lane hash that was read, and until when it was the newest; the present one for ever."""
    is_partial: bool = False
    errors: int = 0
    export_errors: int = 0
    spoiled: int = 0
    delay_s: float = 0.0
    away: bool = False
    _began_s: float = float("-inf")

    @property
    def has_read(self) -> bool:
        return self.read is not NOTHING

    @property
    def lane_hash(self) -> str:
        """`""` where nothing was read."""
        return self.read.lane_hash

    def has_held(self, lane_hash: str, since_s: float) -> bool:
        return self.held.get(lane_hash, -1.0) >= since_s

    def forget(self) -> None:
        """A new process has read nothing."""
        self.held.clear()
        self.read, self.read_s, self.exports, self.is_partial = NOTHING, float("-inf"), 0, False

    def heal(self) -> None:
        self.errors = self.export_errors = self.spoiled = 0
        self.away = False
        self.slow_down(0.0)

    def slow_down(self, by_s: float) -> None:
        self.delay_s = by_s

    def cut(self, away: bool) -> None:
        self.away = away

    def open(self) -> OpenAuthority:
        return partial(_open, self)

    async def call(self, path: str) -> Answer:
        """Raises ConnectionLost."""
        if path == EPOCH_PATH:
            self._began_s = trio.current_time()
        await trio.sleep(self.delay_s)
        if self.away:
            raise ConnectionLost("the config service is away")
        if self._fails(path):
            return Answer(500, {}, b"")
        answer = await self.server.request(Call("GET", path))
        if answer.status != 200 or path != EXPORT_PATH:
            return answer
        return self._export(answer)

    def _fails(self, path: str) -> bool:
        if path == EXPORT_PATH and self.export_errors:
            self.export_errors -= 1
            return True
        self.errors -= (fails := self.errors > 0)
        return fails

    def _export(self, answer: Answer) -> Answer:
        exported = self.on_export(answer.body)
        if self.spoiled:
            self.spoiled -= 1
            self.is_partial = True
            return attrs.evolve(answer, body=_spoiled(answer.body))
        now_s = trio.current_time()
        self.held[self.lane_hash] = now_s
        self.read, self.read_s, self.is_partial = exported, now_s, False
        self.held[self.lane_hash] = float("inf")
        self.exports += 1
        self.covered_s = self._began_s
        return answer


def _spoiled(body: bytes) -> bytes:
    """The last row, and all that were written, hold documents that are none: of a newer version, say."""
    told = json.loads(body)
    for row in told["models"]:
        if row["source"] == "api" or row is told["models"][-1]:
            row["model_config"] = {"sie_id": row["model_id"], "profiles": [7]}
    return json.dumps(told).encode()


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
        try:
            answer = await self._link.call(request.url.path)
        except ConnectionLost as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        return httpx2.Response(answer.status, headers=headers, content=answer.body, request=request)
