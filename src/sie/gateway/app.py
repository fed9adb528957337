"""The gateway put together (§1, §4): the bus outermost, listeners and bootstrap inside, the server innermost."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import attrs
import trio
from hypercorn.typing import ASGIFramework

from sie.authority.client import OpenAuthority
from sie.bus.api import Bus, OpenBus
from sie.bus.dead_letters import DeadLetterBox, dead_letters_spec
from sie.bus.urls import with_credentials
from sie.domain.convergence import Trust
from sie.domain.hash_form import HashForm
from sie.domain.ids import RouterId, WorkerId, router_id
from sie.domain.subjects import inbox_prefix
from sie.domain.worker import WorkerStatus
from sie.gateway.core.access import Access, is_enforced
from sie.gateway.core.admission import Limits
from sie.gateway.core.demand import Demand
from sie.gateway.core.fleet import Fleet
from sie.gateway.core.pool_home import Home, pool_home
from sie.gateway.core.pool_rules import PoolRules, pool_rules
from sie.gateway.core.pool_view import PoolView
from sie.gateway.core.replica import Replica
from sie.gateway.dispatch.assembling import Bounds, Stored, assemble
from sie.gateway.dispatch.dead_letters import DeadLetters
from sie.gateway.dispatch.dispatcher import Dispatcher
from sie.gateway.dispatch.inbox import Inbox
from sie.gateway.dispatch.leftovers import Sweep
from sie.gateway.dispatch.payloads import OpenPayloads, Payloads, open_payloads
from sie.gateway.dispatch.pending import Pending
from sie.gateway.http import configs, feed, inference, page, pools, status
from sie.gateway.http.guards import Admitting, admitting, guarded, guarded_sockets
from sie.gateway.http.services import Pools, Services
from sie.gateway.http.surface import surface_of
from sie.gateway.pools.cluster import OpenKube, open_found_kube
from sie.gateway.pools.opening import Surroundings, open_store
from sie.gateway.pools.upkeep import Upkeep, duties
from sie.gateway.settings import GatewaySettings
from sie.gateway.sync.bootstrap import Syncing
from sie.gateway.sync.following import Sources, following
from sie.gateway.sync.health import hear_forever
from sie.gateway.sync.seed import folders_of
from sie.gateway.sync.worker_socket import Connect, Place, open_stream, watch_forever
from sie.runtime.service import Forever, running
from sie.runtime.world import Machine
from sie.storage.opening import open_payloads as open_payload_store
from sie.web.asgi import with_hot_routes
from sie.web.quart import build_quart
from sie.web.server import Serve

log = logging.getLogger(__name__)


@attrs.frozen
class World:
    machine: Machine
    open_bus: OpenBus
    open_authority: OpenAuthority
    serve: Serve
    connect: Connect = open_stream
    open_kube: OpenKube = open_found_kube
    open_payload_store: OpenPayloads = open_payload_store
    on_dispatcher: Callable[[Dispatcher], None] | None = None
    """For whoever looks at what it holds."""


async def run(
    settings: GatewaySettings, world: World, *, task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED
) -> None:
    """Returns once the machine's stop event is set and requests in flight are done; `task_status` tells the URL."""
    router = router_id(f"gw-{world.machine.token()}")
    replica, fleet, pending = Replica(), Fleet(), Pending()
    syncing = Syncing(replica, world.machine.run_in_thread, world.machine.build_in_thread, HashForm(settings.hash_form))
    async with (
        world.open_bus(_nats_url(settings), inbox=inbox_prefix(router), name=f"sie-gateway {router}") as bus,
        _pools(settings, world, bus) as pools_here,
        open_payloads(settings.payload_store_url, world.open_payload_store, world.machine) as payloads,
        running(*_ears(settings, world, bus, fleet), *duties(_upkeep(pools_here, world, fleet))),
        running(_dead_letters(settings, bus).keep_forever, *_sweeps(settings, world, bus, fleet)),
        following(syncing, bus, _sources(settings, world)),
    ):
        bus.on_inbox(Inbox(pending).receive)
        dispatcher = _dispatcher(settings, bus, router, pending, pools_here.demand, payloads)
        if world.on_dispatcher is not None:
            world.on_dispatcher(dispatcher)
        services = Services(world.machine, router, replica, fleet, bus, dispatcher, pools_here)
        app = _app(services, admitting(_access(settings)))
        stop = world.machine.stop
        async with running(dispatcher.expire_forever):
            await world.serve(app, host=settings.host, port=settings.port, stop=stop, task_status=task_status)


def _nats_url(settings: GatewaySettings) -> str:
    return with_credentials(settings.nats_url, settings.nats_user, settings.nats_password)


def _dead_letters(settings: GatewaySettings, bus: Bus) -> DeadLetters:
    spec = dead_letters_spec(storage=settings.stream_storage, replicas=settings.stream_replicas)
    return DeadLetters(bus, DeadLetterBox(bus, spec))


def _sources(settings: GatewaySettings, world: World) -> Sources:
    url = settings.config_service_url
    return Sources(
        partial(world.open_authority, url, settings.admin_token) if url is not None else None,
        folders_of(settings.bundles_dir, settings.models_dir),
        Trust(settings.trusted_producers, settings.trust_any_producer),
        settings.config_poll_s,
        world.machine.random,
    )


def pool_rules_of(settings: GatewaySettings) -> PoolRules:
    """Raises InvalidCatalogue."""
    return pool_rules(
        settings.configured_gpus, settings.static_queue_pools, settings.configured_physical_lanes, settings.gpu_aliases
    )


def pool_home_of(settings: GatewaySettings) -> Home:
    """Raises InvalidHome."""
    return pool_home(bucket=settings.pool_bucket, kubernetes=settings.kubernetes, namespace=settings.k8s_namespace)


@asynccontextmanager
async def _pools(settings: GatewaySettings, world: World, bus: Bus) -> AsyncIterator[Pools]:
    rules = pool_rules_of(settings)
    view = PoolView.with_protected(rules.queue_pools, world.machine.unix_s())
    demand = Demand.over(rules.lanes)
    around = Surroundings(bus, settings.stream_replicas, world.open_kube, world.machine)
    async with open_store(pool_home_of(settings), view, around) as store:
        yield Pools(view, store, rules, demand)


def _upkeep(pools_here: Pools, world: World, fleet: Fleet) -> Upkeep:
    def workers() -> Iterator[WorkerStatus]:
        return fleet.taking_work(trio.current_time())

    here = pools_here
    return Upkeep(here.view, here.store, here.demand, workers, world.machine.unix_s, here.told)


def _dispatcher(
    settings: GatewaySettings,
    bus: Bus,
    router: RouterId,
    pending: Pending,
    demand: Demand,
    payloads: Payloads | None,
) -> Dispatcher:
    stored = Stored(settings.stream_storage, settings.stream_replicas, settings.stream_max_age_s)
    limits = Limits(settings.max_stream_pending, settings.max_lane_in_flight_items, settings.lane_backpressure_enforce)
    return assemble(bus, router, pending, demand, payloads, stored, Bounds(limits, settings.request_timeout_s))


def _app(services: Services, admit: Admitting) -> ASGIFramework:
    hot, surface = guarded(inference.routes(services), admit), surface_of(admit)
    routes = (route for module in (status, configs, pools, page) for route in module.routes(services))
    sockets = guarded_sockets((*feed.sockets(services), *page.sockets(services)), admit)
    app = build_quart("sie-gateway", (*hot, *guarded(routes, admit)), surface, sockets)
    return with_hot_routes(app, hot, surface)


def _access(settings: GatewaySettings) -> Access:
    enforced = is_enforced(settings.auth_mode)
    if enforced is None:
        log.error(
            "SIE_AUTH_MODE is none of none, token, static: requests are NOT authenticated",
            extra={"mode": settings.auth_mode},
        )
    tokens = (*settings.auth_tokens, *((settings.auth_token,) if settings.auth_token else ()))
    return Access(enforced or False, tokens, settings.admin_token, settings.auth_exempt_operational)


def _ears(settings: GatewaySettings, world: World, bus: Bus, fleet: Fleet) -> Sequence[Forever]:
    """Workers are heard on the bus, or each at its own address (§8, decisions)."""
    if settings.health_mode == "nats":
        return (partial(hear_forever, bus, fleet),)
    if not settings.workers:
        log.warning("no worker will be heard: SIE_GATEWAY_HEALTH_MODE is ws, and SIE_GATEWAY_WORKERS lists none")
    return tuple(partial(watch_forever, Place.of(url), fleet, world.connect) for url in settings.workers)


def _sweeps(settings: GatewaySettings, world: World, bus: Bus, fleet: Fleet) -> Sequence[Forever]:
    """Of a list of addresses a gateway hears, and of no other worker: it cannot say who is gone."""
    if settings.health_mode != "nats":
        return ()

    def workers() -> Iterator[WorkerId]:
        return (status.worker for status in fleet.heard_of(trio.current_time()))

    return (Sweep(bus, workers, world.machine.random).sweep_forever,)
