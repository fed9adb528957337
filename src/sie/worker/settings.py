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

DEVICE = re.compile(r"cpu|cuda(:[0-9]+)?")


@attrs.frozen(kw_only=True)
class WorkerSettings:
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
    device: str = setting("cpu", env="SIE_DEVICE", flags=("-d", "--device"), help="cpu, cuda or cuda:N")
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
    log_level: LogLevel = setting(
        "info", env="SIE_LOG_LEVEL", flags=("-l", "--log-level"), help="debug, info, warning or error"
    )
    log_json: bool = setting(False, env="SIE_LOG_JSON", flags=("--json-logs",), help="One JSON object a log line")


@attrs.frozen
class Plan:
    """What the settings mean: `stream` and `consumer` are the lane's, the own ones those of work sent here by name."""

    worker: ids.WorkerId
    lane: Lane
    stream: StreamSpec
    consumer: ConsumerSpec
    own_stream: StreamSpec
    own_consumer: ConsumerSpec
    cache_dir: str

    def consumer_of(self, delivery: Delivery) -> ConsumerSpec:
        """Whose it is."""
        return self.own_consumer if is_direct(delivery.subject) else self.consumer


def plan_worker(settings: WorkerSettings) -> Plan:
    """Raises ValueError, which names the setting."""
    if not DEVICE.fullmatch(settings.device):
        raise ValueError(f"SIE_DEVICE must be cpu, cuda or cuda:N, not {settings.device!r}")
    if settings.gateway_url is not None and not _is_http(settings.gateway_url):
        raise ValueError(f"SIE_GATEWAY_URL must be http://host:port or https://host, not {settings.gateway_url!r}")
    lane = Lane(
        ids.pool_name(settings.pool), ids.machine_profile(settings.machine_profile), ids.bundle_name(settings.bundle)
    )
    worker = ids.worker_id(settings.worker_id or "")
    storage, replicas, max_age_s = settings.stream_storage, settings.stream_replicas, settings.stream_max_age_s
    return Plan(
        worker=worker,
        lane=lane,
        stream=work_stream_spec(lane.pool, storage=storage, replicas=replicas, max_age_s=max_age_s),
        consumer=lane_consumer_spec(lane),
        own_stream=worker_stream_spec(lane, worker, storage=storage, replicas=replicas, max_age_s=max_age_s),
        own_consumer=worker_consumer_spec(lane, worker),
        cache_dir=os.path.expanduser(settings.cache_dir),
    )


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return url.isprintable() and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
