"""How are the two config services run and asked? Each a real process on a port, a store and a broker of its own.

`Service.ask` gives back all that can be seen from outside: the answer, the epoch after a write, and what the broker's
subscribers heard of it.
"""

import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import attrs
import httpx2
import trio

from ci.lib.compat_config_flavors import ADMIN, FLAVORS, Flavor, write_folders
from ci.lib.compat_config_steps import MODELS, Request
from sie.bus.api import Bus, Message
from sie.bus.nats import open_bus
from sie.cli.child import Child, start_child
from sie.testing.nats_server import HOST, NatsServer, free_port, open_nats_server

READY_S = 60.0
ANSWER_S = 10.0
HEARD_S = 0.7
STOP_S = 10.0
POLL_S = 0.05
DELTAS = "sie.config.models.>"
PRODUCER = "sie-config-0"
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR")


class NotReady(Exception):
    """A service ended, or took too long; the message has what it said."""


@attrs.frozen
class Observed:
    """`epoch` is the answer of /v1/configs/epoch after a write; `heard` are the deltas of the request, in order.
    Status 0 is no answer.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes
    epoch: object = None
    heard: tuple[Message, ...] = ()


@attrs.define(eq=False)
class Service:
    """`variables` are all of its environment but the few that every process needs. `wrote_unseen`: something was
    written that it could not take away again, for want of a store.
    """

    name: str
    argv: tuple[str, ...]
    folder: Path
    variables: Mapping[str, str]
    client: httpx2.AsyncClient
    bus: Bus | None
    heard: list[Message] = attrs.field(factory=list)
    wrote_unseen: bool = False
    _child: Child | None = attrs.field(default=None, init=False)
    _news: trio.Event = attrs.field(factory=trio.Event, init=False)

    def take(self, message: Message) -> None:
        self.heard.append(message)
        self._news.set()

    async def start(self) -> None:
        """Returns when it is ready for writes, or refuses them for good. Raises NotReady."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._child = start_child(self.argv, {**kept, **self.variables}, self.folder / "log")
        with trio.move_on_after(READY_S):
            while not await self._is_ready():
                if self._child.poll() is not None:
                    break
                await trio.sleep(POLL_S)
            else:
                return
        said = (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:]
        raise NotReady(f"{self.name} is not ready: {said}")

    async def stop(self) -> None:
        if self._child is None:
            return
        self._child.terminate()
        with trio.move_on_after(STOP_S):
            while self._child.poll() is None:  # noqa: ASYNC110 -- a process sends no event
                await trio.sleep(POLL_S)
        self._child.reap()
        self._child = None

    async def ask(self, request: Request) -> Observed:
        self.heard.clear()
        try:
            answer = await self._send(request)
        except httpx2.TransportError as error:
            return Observed(0, {}, type(error).__name__.encode())
        if not request.is_write:
            return Observed(answer.status_code, answer.headers, answer.content)
        if self.bus is not None and answer.is_success and request.method != "DELETE":
            await self._hear(answer)
        self.wrote_unseen |= answer.is_success and "SIE_CONFIG_STORE_DIR" not in self.variables
        epoch = _json(await self._send(Request("GET", "/v1/configs/epoch", token=ADMIN)))
        return Observed(answer.status_code, answer.headers, answer.content, epoch, tuple(self.heard))

    async def epoch(self) -> int:
        told = _json(await self._send(Request("GET", "/v1/configs/epoch", token=ADMIN)))
        return int(told.get("epoch", 0))

    async def clear(self) -> None:
        """Take away everything that was written; by a new start with an empty store where nothing else does it."""
        for row in await self._written():
            await self._send(Request("DELETE", f"{MODELS}/{row}", token=ADMIN))
        if self.wrote_unseen or await self._written():
            await self.stop()
            shutil.rmtree(self.folder / "store", ignore_errors=True)
            await self.start()
        self.wrote_unseen = False
        for left in (self.folder / "store").glob("models/*.yaml"):
            left.unlink()

    async def _written(self) -> tuple[str, ...]:
        answer = await self._send(Request("GET", "/v1/configs/export", token=ADMIN))
        self.wrote_unseen |= answer.is_server_error
        rows = answer.json().get("models", ()) if answer.is_success else ()
        return tuple(row["model_id"] for row in rows if row["source"] == "api")

    async def _send(self, request: Request) -> httpx2.Response:
        headers = dict(request.headers)
        if request.token is not None:
            headers["Authorization"] = f"Bearer {request.token}"
        target = request.target.encode("utf-8", "surrogateescape")
        sent = self.client.build_request(request.method, "/", content=request.content or None, headers=headers)
        sent.extensions = {**sent.extensions, "target": target}
        return await self.client.send(sent)

    async def _hear(self, answer: httpx2.Response) -> None:
        """What the broker carries arrives in its own time; an answer and its first delta say how many there are."""
        told = answer.json()
        if told.get("affected_bundles") == [] or (answer.status_code != 201 and not told.get("replaced")):
            return
        with trio.move_on_after(HEARD_S):
            while not self.heard or len(self.heard) < _deltas(self.heard[0]):
                self._news = trio.Event()
                await self._news.wait()

    async def _is_ready(self) -> bool:
        """Beyond /readyz: the broker's connection, without which a write is refused for now."""
        try:
            if not (await self._send(Request("GET", "/readyz"))).is_success:
                return False
            return (await self._send(Request("POST", MODELS, "[]", token=ADMIN))).status_code != 503
        except httpx2.TransportError:
            return False


@attrs.frozen
class Pair:
    ours: Service
    theirs: Service


@asynccontextmanager
async def open_pair(published: Path, folder: Path, flavor: str) -> AsyncIterator[Pair]:
    """Both, over one set of bundles and seeds. Everything ends with the block."""
    found = FLAVORS[flavor]
    shared = {**write_folders(folder), "SIE_CONFIG_RESTORE": "true", "SIE_TELEMETRY_DISABLED": "1"}
    ours = (sys.executable, "-m", "sie.config", "serve")
    async with AsyncExitStack() as stack:
        pair = Pair(
            await stack.enter_async_context(_open_service("ours", ours, folder, found, shared)),
            await stack.enter_async_context(_open_service("theirs", (str(published), "serve"), folder, found, shared)),
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pair.ours.start)
            nursery.start_soon(pair.theirs.start)
        yield pair


@asynccontextmanager
async def _open_service(
    name: str, program: tuple[str, ...], folder: Path, flavor: Flavor, shared: Mapping[str, str]
) -> AsyncIterator[Service]:
    own = folder / name
    own.mkdir()
    port = str(free_port())
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(open_nats_server(store_dir=own / "js")) if flavor.has_broker else None
        limits = httpx2.Limits(max_keepalive_connections=0)  # a refusal before the body may leave a connection unusable
        client = httpx2.AsyncClient(base_url=f"http://{HOST}:{port}", timeout=ANSWER_S, limits=limits)
        await stack.enter_async_context(client)
        bus = await _open_listener(stack, broker) if broker is not None else None
        named = flavor.environment(own / "store", broker.url if broker is not None else "")
        variables = {"POD_NAME": PRODUCER, "SIE_HASH_FORM": "sie-0.10", **shared, **named}
        service = Service(name, (*program, "--host", HOST, "-p", port), own, variables, client, bus)
        if bus is not None:
            await stack.enter_async_context(bus.subscribe(DELTAS, service.take))
        try:
            yield service
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + STOP_S):
                await service.stop()


async def _open_listener(stack: AsyncExitStack, broker: NatsServer) -> Bus:
    bus = await stack.enter_async_context(open_bus(broker.url, inbox="_INBOX.compat", name="compat"))
    await bus.wait_session()
    return bus


def _json(answer: httpx2.Response) -> dict[str, int]:
    """Nothing where it is a fault's plain text."""
    told: dict[str, int] = {} if answer.is_server_error else answer.json()
    return told


def _deltas(first: Message) -> int:
    """One for each bundle, and again for all."""
    bundles: Sequence[str] = json.loads(first.data)["affected_bundles"]
    return 2 * len(bundles)
