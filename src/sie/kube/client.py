"""How does the project talk to a Kubernetes API server? Seven verbs over httpx2, typed by a `Kind`, each with a bound.

Every failure is one of `sie.kube.core.errors`; nothing is tried again but a request that a stale token was refused for.
"""

import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from typing import TypeVar

import attrs
import httpx2
import trio

from sie.kube.access import Access, tls_context
from sie.kube.api import Kube, Receive
from sie.kube.bearer import Bearer, constant, token_in
from sie.kube.core.documents import Kind, continue_of, read_listing
from sie.kube.core.errors import Gone, Invalid, KubeError, Unauthorized, Unavailable, error_of
from sie.kube.core.events import read_event
from sie.kube.core.fields import as_map
from sie.kube.core.lines import Lines
from sie.kube.core.rewatching import GRACE_S
from sie.kube.core.values import Document, Event, Listing, T
from sie.runtime.world import RunInThread

R = TypeVar("R")

CALL_TIMEOUT_S = 10.0
"""For a whole call, however it trickles; a listing has it for each page."""
PAGE = 250
BATCH = 16
"""Events of a watch between two turns of the loop."""
KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), seconds)
        for name, seconds in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)  # not everywhere
    ),
)
"""A peer that is gone without a word ends its connection in half a minute."""
CONTENT_TYPE = {"POST": "application/json", "PUT": "application/json", "PATCH": "application/merge-patch+json"}


@asynccontextmanager
async def open_kube(
    access: Access, *, run_in_thread: RunInThread, transport: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator[Kube]:
    """`transport` stands in for the network. Proxies of the environment never see a token. Raises NoAccess."""
    own = transport or httpx2.AsyncHTTPTransport(verify=_verify(access), trust_env=False, socket_options=KEEPALIVE)
    async with httpx2.AsyncClient(
        headers={"Accept": "application/json", "Accept-Encoding": "identity"},
        timeout=CALL_TIMEOUT_S,
        transport=own,
        trust_env=False,
        follow_redirects=False,
    ) as client:
        yield _HttpKube(client, access.server, access.namespace, _bearer(access, run_in_thread))


def _verify(access: Access) -> ssl.SSLContext | bool:
    return tls_context(access) if access.server.startswith("https://") else False


def _bearer(access: Access, run_in_thread: RunInThread) -> Bearer | None:
    if access.token_file is not None:
        return Bearer(token_in(access.token_file, run_in_thread))
    return Bearer(constant(access.token)) if access.token else None


@attrs.frozen
class _HttpKube:
    client: httpx2.AsyncClient
    server: str
    namespace: str
    bearer: Bearer | None

    async def get(self, kind: Kind[T], name: str) -> T:
        return _read(kind, await self._call("GET", kind.path(self.namespace, name)))

    async def list(self, kind: Kind[T], *, selector: str = "") -> Listing[T]:
        return await self._pages(kind, selector, PAGE)

    async def create(self, kind: Kind[T], item: T) -> T:
        return _read(kind, await self._call("POST", kind.path(self.namespace), body=kind.write(item)))

    async def replace(self, kind: Kind[T], item: T) -> T:
        path = kind.path(self.namespace, item.metadata.name)
        return _read(kind, await self._call("PUT", path, body=kind.write(item)))

    async def merge_patch(self, kind: Kind[T], name: str, patch: Document) -> T:
        return _read(kind, await self._call("PATCH", kind.path(self.namespace, name), body=patch))

    async def delete(
        self, kind: Kind[T], name: str, *, uid: str | None = None, resource_version: str | None = None
    ) -> None:
        wanted = {"uid": uid, "resourceVersion": resource_version}
        conditions = {key: value for key, value in wanted.items() if value is not None}
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions} if conditions else None
        await self._call("DELETE", kind.path(self.namespace, name), body=body)

    async def watch_once(
        self,
        kind: Kind[T],
        receive: Receive[T],
        *,
        resource_version: str,
        span_s: int,
        selector: str = "",
    ) -> None:
        query = {
            "watch": "true",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(span_s),
        }
        with _translated(f"watch {kind.plural}"), trio.fail_after(span_s + GRACE_S):
            url = self._url(kind.path(self.namespace), query | _selecting(selector))
            await self._known(partial(self._follow, kind, url, span_s + GRACE_S, receive))

    async def _follow(self, kind: Kind[T], url: httpx2.URL, silence_s: float, receive: Receive[T]) -> None:
        timeout = httpx2.Timeout(CALL_TIMEOUT_S, read=silence_s)
        token = await self._token()
        async with self.client.stream("GET", url, headers=_authorized(token), timeout=timeout) as response:
            if response.status_code != 200:
                await response.aread()
                raise self._refused(response, token)
            await _read_stream(kind, response, receive)

    async def _pages(self, kind: Kind[T], selector: str, limit: int) -> Listing[T]:
        """Whole, without a limit, where the pages' revision was compacted between two of them."""
        query: dict[str, str] = _selecting(selector) | ({"limit": str(limit)} if limit else {})
        items: list[T] = []
        while True:
            try:
                document = await self._call("GET", kind.path(self.namespace), query=query)
            except Gone:
                if "continue" not in query:
                    raise
                return await self._pages(kind, selector, 0)
            with _translated(f"list {kind.plural}"):
                page, more = read_listing(kind, document), continue_of(document)
            items.extend(page.items)
            if more is None:
                return Listing(tuple(items), page.resource_version)
            query = query | {"continue": more}

    async def _call(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Document | None = None
    ) -> object:
        with _translated(f"{method} {path}"), trio.fail_after(CALL_TIMEOUT_S):
            return await self._known(partial(self._once, method, self._url(path, query or {}), body))

    async def _known(self, ask: Callable[[], Awaitable[R]]) -> R:
        """Twice where the first was refused: then with the token as it is by now."""
        try:
            return await ask()
        except Unauthorized:
            if self.bearer is None:
                raise
        return await ask()

    async def _once(self, method: str, url: httpx2.URL, body: Document | None) -> object:
        token = await self._token()
        headers = _authorized(token)
        content = None
        if body is not None:
            headers["Content-Type"] = CONTENT_TYPE.get(method, "application/json")
            content = json.dumps(body).encode()
        response = await self.client.request(method, url, headers=headers, content=content)
        if not response.is_success:
            raise self._refused(response, token)
        parsed: object = json.loads(response.content)
        return parsed

    async def _token(self) -> str | None:
        return await self.bearer.current() if self.bearer else None

    def _refused(self, response: httpx2.Response, token: str | None) -> KubeError:
        if response.status_code == 401 and self.bearer and token is not None:
            self.bearer.refused(token)
        return error_of(response.status_code, _body_of(response), response.headers.get("Retry-After"))

    def _url(self, path: str, query: Mapping[str, str]) -> httpx2.URL:
        return httpx2.URL(f"{self.server}{path}", params=dict(query))


async def _read_stream(kind: Kind[T], response: httpx2.Response, receive: Receive[T]) -> None:
    """The library's generators end cleanly only from within: so a read is the one place where this can be cancelled,
    and after an error in a line it is.
    """
    lines = Lines()
    wrong: KubeError | ValueError | None = None
    with trio.CancelScope() as reading:
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                if wrong is None:
                    try:
                        await _deliver(kind, lines.receive(chunk), receive)
                    except (KubeError, ValueError) as error:
                        wrong = error
                        reading.cancel()
    if wrong is not None:
        raise wrong


async def _deliver(kind: Kind[T], lines: list[bytes], receive: Receive[T]) -> None:
    """What came before an error is delivered first."""
    for start in range(0, len(lines), BATCH):
        events: list[Event[T]] = []
        try:
            for line in lines[start : start + BATCH]:
                events.append(read_event(kind, line))  # noqa: PERF401  # those before an error count
        finally:
            if events:
                receive(tuple(events))
        await trio.lowlevel.cancel_shielded_checkpoint()


def _authorized(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def _selecting(selector: str) -> dict[str, str]:
    return {"labelSelector": selector} if selector else {}


def _read(kind: Kind[T], document: object) -> T:
    with _translated(kind.name):
        return kind.read(as_map(document))


def _body_of(response: httpx2.Response) -> object:
    """None where it is no JSON, as a proxy's words are not."""
    try:
        body: object = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    return body


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """The one place where others' exceptions become ours."""
    try:
        yield
    except trio.TooSlowError as error:
        raise Unavailable(f"{what}: no answer in time") from error
    except httpx2.InvalidURL as error:
        raise Invalid(f"{what}: {error}") from error
    except (httpx2.HTTPError, ValueError, RecursionError) as error:
        raise Unavailable(f"{what}: {str(error) or type(error).__name__}") from error
