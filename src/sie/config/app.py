"""The config service put together (§1, §3): the broker outermost, the registry read inside it, the server innermost."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import attrs
import trio

from sie.bus.api import OpenBus
from sie.bus.urls import with_credentials
from sie.config.core.access import Tokens
from sie.config.http import reads, writes
from sie.config.http.guards import Guards
from sie.config.http.once import Once
from sie.config.http.surface import SURFACE
from sie.config.loading import Loader, load_once, load_until_done
from sie.config.publisher import ConfigPublisher
from sie.config.settings import ConfigSettings
from sie.config.state import ConfigState
from sie.config.store import ConfigStore
from sie.config.writer import Writer
from sie.domain.hash_form import HashForm
from sie.runtime.world import Machine
from sie.storage.backend import Backend
from sie.web.quart import build_quart
from sie.web.routes import Route
from sie.web.server import Serve

_PRODUCTION = frozenset({"prod", "production"})


@attrs.frozen
class World:
    """`producer` is what subscribers know us by where POD_NAME is not set (§4.3)."""

    machine: Machine
    serve: Serve
    open_bus: OpenBus
    open_backend: Callable[[str], Backend]
    producer: str


async def run(
    settings: ConfigSettings, world: World, *, task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED
) -> None:
    """Returns once the machine's stop event is set; `task_status` tells the URL. Raises StoreConfigError."""
    store = ConfigStore(world.open_backend(settings.store_dir)) if settings.store_dir else None
    loader, state, machine = loader_of(settings, store), ConfigState(), world.machine
    async with _publisher(settings, world) as publisher, trio.open_nursery() as nursery:
        if not await load_once(state, loader.load, machine.build_in_thread):
            nursery.start_soon(load_until_done, state, loader.load, machine.build_in_thread)
        writer = Writer(state, store, publisher, machine.run_in_thread, loader.load)
        app = build_quart("sie-config", _routes(settings, world, writer), SURFACE)
        await world.serve(app, host=settings.host, port=settings.port, stop=machine.stop, task_status=task_status)
        nursery.cancel_scope.cancel()


def loader_of(settings: ConfigSettings, store: ConfigStore | None) -> Loader:
    form = HashForm(settings.hash_form)
    return Loader.of(settings.bundles_dir, settings.models_dir, store, restore=settings.restore, form=form)


def _routes(settings: ConfigSettings, world: World, writer: Writer) -> tuple[Route, ...]:
    guards = Guards(_tokens(settings), writer.state, writer.publisher)
    reading = reads.routes(reads.Reads(writer.state, guards, world.machine.unix_s))
    return (*reading, *writes.routes(writes.Writes(writer, guards, Once())))


def _tokens(settings: ConfigSettings) -> Tokens:
    named = {settings.deployment_env.lower(), settings.env.lower()}
    return Tokens(
        settings.admin_token, settings.config_read_token, settings.auth_token, in_production=bool(named & _PRODUCTION)
    )


@asynccontextmanager
async def _publisher(settings: ConfigSettings, world: World) -> AsyncIterator[ConfigPublisher | None]:
    """None where there is no broker to tell. Connecting goes on by itself; writes are refused until it is done."""
    if settings.nats_url is None:
        yield None
        return
    producer = settings.pod_name or world.producer
    url = with_credentials(settings.nats_url, settings.nats_user, settings.nats_password)
    inbox = f"_INBOX.config-{world.machine.token()}"
    async with world.open_bus(url, inbox=inbox, name=f"sie-config {producer}") as bus:
        yield ConfigPublisher(bus, producer)
