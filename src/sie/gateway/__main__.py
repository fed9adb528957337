"""`sie-gateway`: the gateway as a process (§1)."""

from functools import partial

import click
import trio

from sie.authority.client import open_http_authority
from sie.bus.nats import open_bus
from sie.gateway.app import World, pool_home_of, pool_rules_of, run
from sie.gateway.core.pool_home import InCluster, InvalidHome
from sie.gateway.core.pool_rules import InvalidCatalogue
from sie.gateway.pools.cluster import access_to
from sie.gateway.settings import GatewaySettings
from sie.gateway.sync.worker_socket import InvalidPlace, Place
from sie.kube.access import NoAccess, tls_context
from sie.runtime.command import service_group
from sie.runtime.service import run_service
from sie.runtime.world import real_machine
from sie.telemetry.logs import logging_to_stderr
from sie.web.server import serve_hypercorn


def serve(settings: GatewaySettings) -> None:
    try:
        for url in settings.workers:
            Place.of(url)
        pool_rules_of(settings)
        if isinstance(pool_home_of(settings), InCluster):
            tls_context(access_to(settings.k8s_namespace))
    except (InvalidPlace, InvalidCatalogue, InvalidHome, NoAccess) as error:
        raise click.UsageError(str(error)) from error
    with logging_to_stderr(level=settings.log_level, as_json=settings.log_json):
        run_service(partial(_run, settings))


async def _run(settings: GatewaySettings, stop: trio.Event) -> None:
    machine = real_machine(stop)
    open_authority = partial(open_http_authority, run_in_thread=machine.build_in_thread)
    await run(settings, World(machine, open_bus, open_authority, serve_hypercorn))


main = service_group("sie-gateway", GatewaySettings, serve, summary="Routes inference requests to workers over NATS.")

if __name__ == "__main__":
    main()
