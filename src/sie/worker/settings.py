"""What a person can set on a worker, and where, and what that means: its name, its lane, its place in the broker."""

import os
import re
from urllib.parse import urlsplit

import attrs

from sie.bus.jetstream_api import ConsumerSpec, Delivery, StreamSpec
from sie.bus.work_streams import lane_consumer_spec, work_stream_spec, worker_consumer_spec, worker_stream_spec
from sie.domain import ids
from sie.domain.lane import Lane
from sie.domain.subjects import is_direct
from sie.runtime.settings import HashFormName, LogLevel, setting

DEVICE = re.compile(r"cpu(:[1-9][0-9]?)?|cuda(:[0-9]+)?(,cuda:[0-9]+)*")
NO_PORT = "none"
MAX_PORT = 65535


@attrs.frozen(kw_only=True)
class WorkerSettings:
    host: str = setting("0.0.0.0", env="SIE_WORKER_HOST", flags=("--host",), help="Address to tell its status on")  # noqa: S104
    port: str = setting(
        "8080",
        env="SIE_WORKER_PORT",
        flags=("-p", "--port"),
        help="Port of its probes and status, 0 for a free one; none: nobody can ask",
    )
    nats_url: str = setting(
        "nats://127.0.0.1:4222", env="SIE_NATS_URL", flags=("--nats-url",), help="The broker; several: comma-separated"
    )
    config_service_url: str = setting(
        "http://127.0.0.1:8080",
        env="SIE_CONFIG_SERVICE_URL",
        flags=("--config-service-url",),
        help="Where bundles and models are read, and followed",
    )
    hash_form: HashFormName = setting(
        "reference", env="SIE_HASH_FORM", help="Which canonical form configuration hashes have (every service alike)"
    )
    admin_token: str | None = setting(
        None, env="SIE_ADMIN_TOKEN", help="Sent to the config service as a bearer", secret=True
    )
    gateway_url: str | None = setting(
        None,
        env="SIE_GATEWAY_URL",
        flags=("--gateway-url",),
        help="Where pools are read; without it the worker takes no work of pools that tenants made",
    )
    auth_token: str | None = setting(
        None, env="SIE_AUTH_TOKEN", help="Sent to the gateway as a bearer, to read its pools", secret=True
    )
    bundle: str = setting("default", env="SIE_BUNDLE", flags=("-b", "--bundle"), help="The bundle to serve")
    pool: str = setting("default", env="SIE_POOL", flags=("--pool",), help="The queue pool to take work from")
    machine_profile: str = setting(
        "default", env="SIE_MACHINE_PROFILE", flags=("--machine-profile",), help="The kind of machine this is"
    )
    worker_id: str | None = setting(
        None,
        env="SIE_WORKER_ID",
        flags=("--worker-id",),
        help="Unique in the cluster; by default made from the host name",
    )
    device: str = setting(
        "cpu",
        env="SIE_DEVICE",
        flags=("-d", "--device"),
        help="cpu, cpu:N for N processes on it, cuda, cuda:N, or several as cuda:0,cuda:1; a process each",
    )
    model_memory_bytes: int | None = setting(
        None,
        env="SIE_MODEL_MEMORY_BYTES",
        help="What loaded models may take of each device; by default 85 % of what it has",
        at_least=1.0,
    )
    preload: tuple[str, ...] = setting(
        (), env="SIE_PRELOAD", flags=("--preload",), help="Models to load before the worker says that it is ready"
    )
    cache_dir: str = setting(
        "~/.cache/sie", env="SIE_CACHE_DIR", flags=("--cache-dir",), help="Holds downloads and compiled programs"
    )
    payload_store_url: str | None = setting(
        None,
        env="SIE_PAYLOAD_STORE_URL",
        help="Where gateways put inputs that fit no message: a folder, s3://, gs:// or abfs://",
    )
    stream_storage: str = setting(
        "memory", env="SIE_STREAM_STORAGE", help="Where the broker keeps work: memory or file"
    )
    stream_replicas: int = setting(1, env="SIE_STREAM_REPLICAS", help="Copies that the broker keeps of the work stream")
    stream_max_age_s: float = setting(1800.0, env="SIE_STREAM_MAX_AGE_S", help="Seconds after which work expires")
    drain_grace_s: float = setting(
        25.0,
        env="SIE_DRAIN_GRACE_S",
        help="Seconds that running batches have to end after SIGTERM; what still runs then goes back",
        at_least=0.0,
    )
    log_level: LogLevel = setting(
        "info", env="SIE_LOG_LEVEL", flags=("-l", "--log-level"), help="debug, info, warning or error"
    )
    log_json: bool = setting(False, env="SIE_LOG_JSON", flags=("--json-logs",), help="One JSON object a log line")


@attrs.frozen
class Plan:
    """What the settings mean: `stream` and `consumer` are the lane's, the own ones those of work sent here by name.
    `port` None: no status is told. A backend runs on each of `devices`, `sharing` of which have one memory.
    """

    port: int | None
    worker: ids.WorkerId
    lane: Lane
    stream: StreamSpec
    consumer: ConsumerSpec
    own_stream: StreamSpec
    own_consumer: ConsumerSpec
    cache_dir: str
    devices: tuple[str, ...] = ("cpu",)

    @property
    def sharing(self) -> int:
        return self.devices.count("cpu") or 1

    def consumer_of(self, delivery: Delivery) -> ConsumerSpec:
        """Whose it is."""
        return self.own_consumer if is_direct(delivery.subject) else self.consumer


def plan_worker(settings: WorkerSettings) -> Plan:
    """Raises ValueError, which names the setting."""
    devices = _devices(settings.device)
    if settings.gateway_url is not None and not _is_http(settings.gateway_url):
        raise ValueError(f"SIE_GATEWAY_URL must be http://host:port or https://host, not {settings.gateway_url!r}")
    port = _port(settings.port)
    lane = Lane(
        ids.pool_name(settings.pool), ids.machine_profile(settings.machine_profile), ids.bundle_name(settings.bundle)
    )
    worker = ids.worker_id(settings.worker_id or "")
    storage, replicas, max_age_s = settings.stream_storage, settings.stream_replicas, settings.stream_max_age_s
    return Plan(
        port=port,
        worker=worker,
        lane=lane,
        stream=work_stream_spec(lane.pool, storage=storage, replicas=replicas, max_age_s=max_age_s),
        consumer=lane_consumer_spec(lane),
        own_stream=worker_stream_spec(lane, worker, storage=storage, replicas=replicas, max_age_s=max_age_s),
        own_consumer=worker_consumer_spec(lane, worker),
        cache_dir=os.path.expanduser(settings.cache_dir),
        devices=devices,
    )


def _devices(text: str) -> tuple[str, ...]:
    """Raises ValueError."""
    names = tuple(text.split(","))
    if not DEVICE.fullmatch(text) or len({*names}) < len(names) or (len(names) > 1 and "cuda" in names):
        raise ValueError(f"SIE_DEVICE must be cpu, cpu:N, cuda, cuda:N or cuda:N,cuda:M, not {text!r}")
    kind, _, count = text.partition(":")
    return ("cpu",) * int(count or 1) if kind == "cpu" else names


def _port(text: str) -> int | None:
    """Raises ValueError."""
    if text.lower() == NO_PORT:
        return None
    if not text.isascii() or not text.isdecimal() or int(text) > MAX_PORT:
        raise ValueError(f"SIE_WORKER_PORT must be 0 to {MAX_PORT} or {NO_PORT}, not {text!r}")
    return int(text)


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return url.isprintable() and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
