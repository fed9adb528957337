"""The Kubernetes API server of a simulated cluster, and each gateway's way to it, with what can befall them (§16.3).

The server outlives every gateway. A way that is blocked lets nothing pass, and nobody is told; a server that is down
refuses whoever comes, and has ended what was under way.
"""

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial

import attrs
import httpx2
import trio
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, Scope

from sie.gateway.pools.cluster import OpenKube
from sie.kube.access import Access
from sie.kube.api import Kube
from sie.kube.client import CALL_TIMEOUT_S, open_kube
from sie.kube.core.names import CONFIG_MAP_PREFIX
from sie.runtime.world import RunInThread
from sie.testing.cluster.machine import START_UNIX_S
from sie.testing.kube.double import KubeDouble
from sie.testing.kube.inprocess import InProcess
from sie.testing.kube.model import KubeModel
from sie.testing.kube.refusing import Refused
from sie.testing.kube.resources import CONFIG_MAPS, Document
from sie.testing.kube.shaping import metadata_of

NAMESPACE = "default"
RIVAL_MARK = "acme.io/rival"
BEHIND_S = 45.0
"""After trouble a watch is there again by then: it waits for half a minute at most."""
HALF_OPEN_S = 105.0
"""A watch that went silent is given up by then."""
STARTING_S = 6.0
"""In which a gateway that started has listed its pools, or goes on without them."""
PROMPT_S = 1.0
"""A request that takes longer may be the watch, or the listing before it."""


@attrs.define(eq=False)
class KubeServer:
    """Before each of the next `rivals` writes of a pool another hand writes there.

    `is_hand`: whoever changes something now is no gateway.
    """

    double: KubeDouble
    nursery: trio.Nursery
    is_up: bool = True
    is_hand: bool = False
    rivals: int = 0
    links: dict[str, "KubeLink"] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, seed: int, nursery: trio.Nursery) -> "KubeServer":
        def unix_s() -> float:
            return START_UNIX_S + trio.current_time()

        return cls(KubeDouble(KubeModel(unix_s, random.Random(f"{seed}/kube"))), nursery)

    @property
    def model(self) -> KubeModel:
        return self.double.model

    def link(self, gateway: str) -> "KubeLink":
        return self.links.setdefault(gateway, KubeLink(self))

    def doubt(self, for_s: float) -> None:
        """Any gateway may be behind for so long."""
        for link in self.links.values():
            link.doubt(for_s)

    def is_fair(self) -> bool:
        """Whether every gateway must know what it holds."""
        return all(link.is_fair(trio.current_time()) for link in self.links.values())

    def stop(self) -> None:
        """What is under way ends; what it remembers of the past is forgotten."""
        if self.is_up:
            self.is_up = False
            for link in self.links.values():
                link.cut()
            self.model.compact()
            self.doubt(BEHIND_S)
            self._look()

    def start(self) -> None:
        if not self.is_up:
            self.is_up = True
            self.doubt(BEHIND_S)
            self._look()

    def heal(self) -> None:
        self.double.faults.clear()
        self.rivals = 0
        self.start()
        for link in self.links.values():
            link.block(blocked=False)

    def _look(self) -> None:
        for link in self.links.values():
            link.look()

    @contextmanager
    def by_hand(self) -> Iterator[KubeModel]:
        """Within the block, which does not wait, an operator changes what is there."""
        self.is_hand = True
        try:
            yield self.model
        finally:
            self.is_hand = False

    def meet_rival(self, request: httpx2.Request) -> bool:
        """Whether another was quicker than this write."""
        name = request.url.path.rpartition("/")[2]
        is_write = request.method in ("PUT", "DELETE") and f"/{CONFIG_MAPS.plural}/" in request.url.path
        if not (self.rivals and is_write and name.startswith(CONFIG_MAP_PREFIX)):
            return False
        self.rivals -= 1
        with self.by_hand() as model:
            try:
                model.patch(CONFIG_MAPS, NAMESPACE, name, partial(_marked, str(model.revision)))
            except Refused:
                return False
        return True


def _marked(mark: str, held: Document) -> Document:
    """Another's annotation, which is no business of pools."""
    metadata = metadata_of(held)
    annotations = metadata.get("annotations")
    known = annotations if isinstance(annotations, dict) else {}
    return {**held, "metadata": {**metadata, "annotations": {**known, RIVAL_MARK: mark}}}


class KubeLink(httpx2.AsyncBaseTransport):
    """One gateway's way to the server. `troubled_s` is when something last went wrong on it; `fair_s` from when on its
    gateway must know what the server holds.
    """

    def __init__(self, server: KubeServer) -> None:
        self.troubled_s = self.fair_s = float("-inf")
        self.away_since_s: float | None = None
        self._server = server
        self._inner = InProcess(self._serve, server.nursery)
        self._open = trio.Event()
        self._open.set()
        self._asked: dict[httpx2.Request, float] = {}
        self._served: dict[trio.CancelScope, None] = {}

    def open_kube(self) -> OpenKube:
        return partial(_open, self)

    def doubt(self, for_s: float) -> None:
        self.fair_s = max(self.fair_s, trio.current_time() + for_s)

    def is_fair(self, since_s: float) -> bool:
        """Whether nothing has hindered its gateway from knowing what was there since then."""
        is_slow = any(trio.current_time() - asked_s > PROMPT_S for asked_s in self._asked.values())
        return self.fair_s <= since_s and not is_slow and self.away_since_s is None

    def block(self, *, blocked: bool) -> None:
        if blocked and self._open.is_set():
            self._open = trio.Event()
        elif not blocked and not self._open.is_set():
            self._open.set()
            self.doubt(BEHIND_S)
        self.look()

    def look(self) -> None:
        """Whether the server is away for it now."""
        is_away = not (self._server.is_up and self._open.is_set())
        if not is_away:
            self.away_since_s = None
        elif self.away_since_s is None:
            self.away_since_s = trio.current_time()

    async def passable(self) -> None:
        while not self._open.is_set():
            await self._open.wait()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        began_s = self._asked[request] = trio.current_time()
        try:
            response = await self._pass(request)
        except httpx2.TransportError:
            self._note()
            raise
        except trio.Cancelled:
            if trio.current_time() - began_s > CALL_TIMEOUT_S - PROMPT_S:
                self._note()
            raise
        finally:
            del self._asked[request]
        if response.status_code in (410, 429) or response.status_code >= 500 or _is_late(began_s):
            self._note()
        return response

    async def _pass(self, request: httpx2.Request) -> httpx2.Response:
        server = self._server
        await self.passable()
        if not server.is_up:
            raise httpx2.ConnectError("the API server is down", request=request)
        if server.meet_rival(request):
            self.troubled_s = trio.current_time()
        return await self._inner.handle_async_request(request)

    async def _serve(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """What is answered waits at the server's side, so that who reads is always waiting for a read."""

        async def send_over(event: ASGISendEvent) -> None:
            await self.passable()
            await send(event)

        with trio.CancelScope() as serving:
            self._served[serving] = None
            try:
                await self._server.double(scope, receive, send_over)
            finally:
                del self._served[serving]

    def cut(self) -> None:
        """Whatever is being answered ends in the middle."""
        for serving in tuple(self._served):
            serving.cancel()

    def _note(self) -> None:
        self.troubled_s = trio.current_time()
        self.doubt(BEHIND_S)


def _is_late(began_s: float) -> bool:
    return trio.current_time() - began_s > PROMPT_S


def _open(link: KubeLink, namespace: str | None, run_in_thread: RunInThread, /) -> AbstractAsyncContextManager[Kube]:
    return _open_over(link, namespace or NAMESPACE, run_in_thread)


@asynccontextmanager
async def _open_over(link: KubeLink, namespace: str, run_in_thread: RunInThread) -> AsyncIterator[Kube]:
    link.doubt(STARTING_S)
    access = Access("http://kube", namespace=namespace)
    async with open_kube(access, run_in_thread=run_in_thread, transport=link) as kube:
        yield kube
