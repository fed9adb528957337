"""What a gateway or a worker reads from the config service (§4.1): the epoch, the bundles, the export.

`open_http_authority` is the real client; decisions about what was read are `sie.authority.snapshot`'s and the caller's.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Protocol, TypeVar
from urllib.parse import quote

import attrs
import httpx2
import trio

from sie.domain.bundle import Bundle
from sie.runtime.world import RunInThread
from sie.wire.configs_api import EpochReply, ExportReply, read_bundles, read_epoch
from sie.wire.documents import parse_bundle
from sie.wire.export_reading import read_export_parts

T = TypeVar("T")

CALL_TIMEOUT_S = 10.0
"""For a whole call; httpx2's own timeout is for each read, and so has no bound against a trickle."""
SMALL_BYTES = 16 * 1024
"""An answer of no more, as each poll's is, is read sooner than a thread would begin with it."""


class AuthorityError(Exception):
    """The config service could not be read; nothing follows from that but to try again."""


class Authority(Protocol):
    """Each call raises AuthorityError."""

    async def read_epoch(self) -> EpochReply: ...

    async def read_bundles(self) -> tuple[Bundle, ...]: ...

    async def read_export(self) -> ExportReply: ...


OpenAuthority = Callable[[str, str | None], AbstractAsyncContextManager[Authority]]
"""From a base URL and an admin token to a client."""


async def in_place(work: Callable[[], T], /) -> T:
    return work()


@asynccontextmanager
async def open_http_authority(
    base_url: str,
    token: str | None,
    *,
    transport: httpx2.AsyncBaseTransport | None = None,
    run_in_thread: RunInThread = in_place,
) -> AsyncIterator[Authority]:
    """`token` is sent as a bearer where there is one. Proxies of the environment never see it. Raises AuthorityError
    for an address that cannot be one.

    `transport` stands in for the network, as an in-process ASGI application does. Large answers are read by
    `run_in_thread`: an export of many models takes a second of that.
    """
    async with _client(base_url, token, transport) as client:
        yield _HttpAuthority(client, run_in_thread)


def _client(base_url: str, token: str | None, transport: httpx2.AsyncBaseTransport | None) -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if not base_url.startswith(("http://", "https://")):
        raise AuthorityError(f"SIE_CONFIG_SERVICE_URL {base_url!r} must begin with http:// or https://")
    try:
        return httpx2.AsyncClient(
            base_url=base_url,
            headers=headers,
            timeout=CALL_TIMEOUT_S,
            transport=transport,
            trust_env=False,
            follow_redirects=False,
        )
    except (httpx2.InvalidURL, ValueError) as error:
        raise AuthorityError(f"SIE_CONFIG_SERVICE_URL {base_url!r}: {error}") from error


@attrs.frozen
class _HttpAuthority:
    client: httpx2.AsyncClient
    run_in_thread: RunInThread

    async def read_epoch(self) -> EpochReply:
        return await self._read("/v1/configs/epoch", lambda parts: read_epoch(json.loads(b"".join(parts))))

    async def read_bundles(self) -> tuple[Bundle, ...]:
        listed = await self._read("/v1/configs/bundles", lambda parts: read_bundles(json.loads(b"".join(parts))))
        return tuple([await self._read_bundle(row.bundle_id) for row in listed.bundles])

    async def read_export(self) -> ExportReply:
        return await self._read("/v1/configs/export", read_export_parts)

    async def _read_bundle(self, bundle_id: str) -> Bundle:
        path = f"/v1/configs/bundles/{quote(bundle_id, safe='')}"
        return await self._read(path, lambda parts: parse_bundle(b"".join(parts).decode(), stem=bundle_id))

    async def _read(self, path: str, parse: Callable[[list[bytes]], T]) -> T:
        """`parse` is given the body as it came: to put megabytes together is a thread's work too."""
        try:
            with trio.fail_after(CALL_TIMEOUT_S):
                async with self.client.stream("GET", path) as response:
                    response.raise_for_status()
                    parts = [part async for part in response.aiter_bytes()]
            run = in_place if sum(map(len, parts)) <= SMALL_BYTES else self.run_in_thread
            return await run(partial(parse, parts))
        except (httpx2.HTTPError, trio.TooSlowError, ValueError, RecursionError) as error:
            raise AuthorityError(f"GET {path}: {str(error) or type(error).__name__}") from error
