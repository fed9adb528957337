"""Which processes make one system on one machine, with what arguments, environment and grace? Pure; `up` runs it.

The order is that of need: each may lean on those before it. They are all started at once, since each waits for what it
needs, and stopped one by one from the last to the first. Settings travel by the environment.
"""

from collections.abc import Mapping
from pathlib import Path

import attrs

from sie.cli.folders import Folders
from sie.cli.ports import LOOPBACK, reachable, url
from sie.cli.settings import UpSettings


@attrs.frozen
class Service:
    """One process to keep. `grace_s` is how long it may take to end; each life gets its number in `numbered`."""

    name: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    grace_s: float
    numbered: str | None = None

    def environ_of(self, life: int) -> Mapping[str, str]:
        return {**self.environ, self.numbered: life_id(self.name, life)} if self.numbered else self.environ


def life_id(name: str, life: int) -> str:
    """A new name for each life, so that what is still said of the dead one is not taken for the new one's word."""
    return f"{name}-{life}"


@attrs.frozen
class Ports:
    nats: int
    config: int
    gateway: int


@attrs.frozen
class Programs:
    python: str
    nats_server: str


@attrs.frozen
class Plan:
    """`services` in the order of need; the rest is what those who watch and announce must know."""

    services: tuple[Service, ...]
    host: str
    ports: Ports
    models: tuple[str, ...]
    logs: Path
    look_token: str | None = attrs.field(default=None, repr=False)

    @property
    def nats_url(self) -> str:
        return url("nats", LOOPBACK, self.ports.nats)

    @property
    def config_url(self) -> str:
        return url("http", LOOPBACK, self.ports.config)

    @property
    def gateway_url(self) -> str:
        return url("http", self.host, self.ports.gateway)


NATS_GRACE_S = 1.0
CONFIG_GRACE_S = 1.0
WORKER_DRAIN_S = 2.0
WORKER_GRACE_S = 3.0
"""Enough for the batches in hand, and to give back the rest, which is delivered again at the next start."""
GATEWAY_GRACE_S = 3.5
"""Requests in flight are answered meanwhile. All graces together stay below the 10 s that stopping may take."""


def plan_up(
    settings: UpSettings, folders: Folders, ports: Ports, programs: Programs, environ: Mapping[str, str]
) -> Plan:
    """`environ` is ours, and reaches every process; what is planned here wins over it.

    Some are defaults: work waits in files, so that it outlives a broker that dies, and long inputs lie in a folder. The
    worker listens nowhere: the gateway tells all of it.
    """
    shared = {
        "SIE_WORKER_PORT": "none",
        "SIE_STREAM_STORAGE": "file",
        "SIE_PAYLOAD_STORE_URL": str(folders.payloads),
        **environ,
        "SIE_NATS_URL": url("nats", LOOPBACK, ports.nats),
        "SIE_CONFIG_SERVICE_URL": url("http", LOOPBACK, ports.config),
    }
    config = {
        "SIE_CONFIG_HOST": LOOPBACK,
        "SIE_CONFIG_PORT": str(ports.config),
        "SIE_CONFIG_STORE_DIR": str(folders.config),
        "SIE_CONFIG_RESTORE": "true",
        "POD_NAME": "sie-config",  # the name whose deltas gateways and workers trust unless told otherwise
    }
    worker = {
        "SIE_PRELOAD": ",".join(settings.preload),
        "SIE_CACHE_DIR": str(folders.cache),
        "SIE_DEVICE": "cpu",
        "SIE_DRAIN_GRACE_S": f"{WORKER_DRAIN_S:g}",
        "SIE_GATEWAY_URL": url("http", reachable(settings.host), ports.gateway),
        **({"SIE_AUTH_TOKEN": settings.look_token} if settings.look_token else {}),
    }
    gateway = {"SIE_GATEWAY_HOST": settings.host, "SIE_GATEWAY_PORT": str(ports.gateway)}
    broker = (programs.nats_server, "-js", "-a", LOOPBACK, "-p", str(ports.nats), "-sd", str(folders.nats))
    return Plan(
        services=(
            Service("nats", broker, environ, NATS_GRACE_S),
            Service("config", _serve(programs, "config"), {**shared, **config}, CONFIG_GRACE_S),
            Service("worker", _serve(programs, "worker"), {**shared, **worker}, WORKER_GRACE_S, "SIE_WORKER_ID"),
            Service("gateway", _serve(programs, "gateway"), {**shared, **gateway}, GATEWAY_GRACE_S),
        ),
        host=reachable(settings.host),
        ports=ports,
        models=settings.preload,
        logs=folders.logs,
        look_token=settings.look_token,
    )


def _serve(programs: Programs, service: str) -> tuple[str, ...]:
    """-P: a file in the current folder that is named like a module must not be taken for it."""
    return (programs.python, "-P", "-m", f"sie.{service}", "serve")
