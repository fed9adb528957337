"""The gateway put together (§1, §4): the bus outermost, listeners and bootstrap inside, the server innermost."""

import attrs
import trio

from sie.authority.client import OpenAuthority
from sie.bus.api import Bus, OpenBus
from sie.domain.ids import RouterId, router_id
from sie.domain.registry import ModelRegistry
from sie.domain.subjects import HEALTH_ALL, inbox_prefix
from sie.gateway.core.fleet import Fleet
from sie.gateway.dispatch.inbox import Inbox
from sie.gateway.dispatch.pending import Pending
from sie.gateway.dispatch.publisher import Publisher
from sie.gateway.dispatch.streams import Streams
from sie.gateway.http import encode, status
from sie.gateway.http.services import Services, StreamDefaults
from sie.gateway.settings import GatewaySettings
from sie.gateway.sync.bootstrap import Replica, bootstrap_until_done
from sie.gateway.sync.health import Heartbeats
from sie.runtime.world import Machine
from sie.web.quart import Surface, build_quart
from sie.web.routes import Route
from sie.web.server import Serve

MAX_BODY_BYTES = 34 * 1024 * 1024
"""Of any request (decisions)."""


@attrs.frozen
class World:
    machine: Machine
    open_bus: OpenBus
    open_authority: OpenAuthority
    serve: Serve


async def run(
    settings: GatewaySettings, world: World, *, task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED
) -> None:
    """Returns once the machine's stop event is set and requests in flight are done; `task_status` tells the URL."""
    router = router_id(f"gw-{world.machine.token()}")
    registry, fleet, pending = ModelRegistry(), Fleet(), Pending()
    async with (
        world.open_bus(settings.nats_url, inbox=inbox_prefix(router), name=f"sie-gateway {router}") as bus,
        bus.subscribe(HEALTH_ALL, Heartbeats(fleet).receive),
        trio.open_nursery() as nursery,
    ):
        bus.on_inbox(Inbox(pending).receive)
        nursery.start_soon(_bootstrap, settings, world, registry)
        services = _services(settings, world, router, registry, fleet, bus, pending)
        app = build_quart("sie-gateway", _routes(services), SURFACE)
        stop = world.machine.stop
        await world.serve(app, host=settings.host, port=settings.port, stop=stop, task_status=task_status)
        nursery.cancel_scope.cancel()


async def _bootstrap(settings: GatewaySettings, world: World, registry: ModelRegistry) -> None:
    """Without a config service there is nothing to catch up with (§4.1)."""
    if settings.config_service_url is None:
        return
    async with world.open_authority(settings.config_service_url, settings.admin_token) as authority:
        await bootstrap_until_done(Replica(registry), authority)


def _services(
    settings: GatewaySettings,
    world: World,
    router: RouterId,
    registry: ModelRegistry,
    fleet: Fleet,
    bus: Bus,
    pending: Pending,
) -> Services:
    return Services(
        machine=world.machine,
        router=router,
        registry=registry,
        fleet=fleet,
        bus=bus,
        pending=pending,
        publisher=Publisher(bus, Streams(bus)),
        streams=StreamDefaults(settings.stream_storage, settings.stream_replicas, settings.stream_max_age_s),
        request_timeout_s=settings.request_timeout_s,
    )


def _routes(services: Services) -> tuple[Route, ...]:
    return (*encode.routes(services), *status.routes(services))


SURFACE = Surface(
    max_body_bytes=MAX_BODY_BYTES,
    not_found=status.not_found,
    method_not_allowed=status.method_not_allowed,
    too_large=status.too_large,
    internal_error=status.internal_error,
    headers=encode.VERSION_HEADERS,
)
