"""The gateway's settings (§13)."""

from typing import Literal

import attrs

from sie.bus.jetstream_api import Storage
from sie.gateway.core.admission import DEFAULT_LANE_ITEMS, DEFAULT_STREAM_PENDING
from sie.runtime.settings import HashFormName, LogLevel, setting

HealthMode = Literal["nats", "ws"]


@attrs.frozen
class GatewaySettings:
    host: str = setting("0.0.0.0", env="SIE_GATEWAY_HOST", flags=("--host",), help="Address to listen on")  # noqa: S104
    port: int = setting(
        8080, env="SIE_GATEWAY_PORT", flags=("-p", "--port"), help="Port to listen on, 0 for a free one"
    )
    nats_url: str = setting("nats://127.0.0.1:4222", env="SIE_NATS_URL", flags=("--nats-url",), help="The broker")
    config_service_url: str | None = setting(
        None, env="SIE_CONFIG_SERVICE_URL", flags=("--config-service-url",), help="The config service; unset: none"
    )
    admin_token: str | None = setting(
        None,
        env="SIE_ADMIN_TOKEN",
        secret=True,
        help="Shown to the config service; needed here for what changes things",
    )
    auth_mode: str = setting(
        "none", env="SIE_AUTH_MODE", help="token (or static) asks every request for a token, none does not"
    )
    auth_tokens: tuple[str, ...] = setting(
        (), env="SIE_AUTH_TOKENS", secret=True, help="The tokens for inference and reads"
    )
    auth_token: str | None = setting(None, env="SIE_AUTH_TOKEN", secret=True, help="One more of them")
    auth_exempt_operational: bool = setting(
        False, env="SIE_AUTH_EXEMPT_OPERATIONAL", help="/, /health and /ws/* need no token"
    )
    health_mode: HealthMode = setting(
        "nats",
        env="SIE_GATEWAY_HEALTH_MODE",
        flags=("--health-mode",),
        help="Where workers are heard: broker or socket",
    )
    workers: tuple[str, ...] = setting(
        (), env="SIE_GATEWAY_WORKERS", flags=("-w", "--worker"), help="With ws: each worker's address, http://host:port"
    )
    nats_user: str | None = setting(None, env="SIE_NATS_USER", help="Name at the broker, instead of one in the URL")
    nats_password: str | None = setting(None, env="SIE_NATS_PASSWORD", help="Password of that name", secret=True)
    config_poll_s: float = setting(
        30.0,
        env="SIE_GATEWAY_CONFIG_POLL_S",
        help="Seconds between two looks at the config service's epoch",
        at_least=1,
    )
    trusted_producers: tuple[str, ...] = setting(
        ("sie-config",), env="SIE_NATS_CONFIG_TRUSTED_PRODUCERS", help="Whose deltas count: names, or their pods'"
    )
    trust_any_producer: bool = setting(
        False, env="SIE_NATS_CONFIG_TRUST_ANY_PRODUCER", help="Everybody's deltas count (development alone)"
    )
    bundles_dir: str | None = setting(
        None,
        env="SIE_BUNDLES_DIR",
        flags=("--bundles-dir",),
        help="Folder of bundles, until the config service is read",
    )
    models_dir: str | None = setting(
        None, env="SIE_MODELS_DIR", flags=("--models-dir",), help="Folder of models, until the config service is read"
    )
    hash_form: HashFormName = setting(
        "reference", env="SIE_HASH_FORM", help="Which canonical form configuration hashes have (every service alike)"
    )
    request_timeout_s: float = setting(
        120.0, env="SIE_GATEWAY_REQUEST_TIMEOUT", help="Seconds that a request waits for its results", at_least=0.1
    )
    payload_store_url: str | None = setting(
        None,
        env="SIE_PAYLOAD_STORE_URL",
        help="Where inputs go that fit no message: a folder, s3://, gs:// or abfs://; workers have the same",
    )
    max_stream_pending: int = setting(
        DEFAULT_STREAM_PENDING,
        env="SIE_GATEWAY_MAX_STREAM_PENDING",
        help="Items waiting in a pool's queue from which on it takes no more",
        at_least=1,
    )
    max_lane_in_flight_items: int = setting(
        DEFAULT_LANE_ITEMS,
        env="SIE_GATEWAY_MAX_LANE_IN_FLIGHT_ITEMS",
        help="Items of this gateway in one lane from which on it is over its limit",
        at_least=1,
    )
    lane_backpressure_enforce: bool = setting(
        False,
        env="SIE_GATEWAY_LANE_BACKPRESSURE_ENFORCE",
        help="Refuse what passes a lane's limit, and not only count it",
    )
    configured_gpus: tuple[str, ...] = setting(
        (), env="SIE_GATEWAY_CONFIGURED_GPUS", help="Machine profiles that the cluster has; unset: pools may name any"
    )
    gpu_aliases: tuple[str, ...] = setting(
        (), env="SIE_GATEWAY_GPU_ALIASES", help="Other names of machine profiles, each alias=profile"
    )
    static_queue_pools: tuple[str, ...] = setting(
        (), env="SIE_GATEWAY_STATIC_QUEUE_POOLS", help="Queue pools beside default that pools may have behind them"
    )
    configured_physical_lanes: tuple[str, ...] = setting(
        (),
        env="SIE_GATEWAY_CONFIGURED_PHYSICAL_LANES",
        help="Lanes that can be scaled, each pool/profile/bundle, at most 1024",
    )
    pool_bucket: str | None = setting(
        None,
        env="SIE_GATEWAY_POOL_BUCKET",
        flags=("--pool-bucket",),
        help="Keep pools in this bucket of the broker, for all gateways that name it; unset: in this process alone",
    )
    kubernetes: bool = setting(
        False,
        env="SIE_GATEWAY_KUBERNETES",
        flags=("--kubernetes",),
        help="Keep pools in the cluster (service account, or KUBECONFIG), for all of its gateways",
    )
    k8s_namespace: str | None = setting(
        None,
        env="SIE_GATEWAY_K8S_NAMESPACE",
        flags=("--k8s-namespace",),
        help="Namespace of the pools; unset: the service account's, or the kubeconfig's",
    )
    stream_storage: Storage = setting("memory", env="SIE_STREAM_STORAGE", help="Where work streams live")
    stream_replicas: int = setting(1, env="SIE_STREAM_REPLICAS", help="Copies of each work stream")
    stream_max_age_s: int = setting(1800, env="SIE_STREAM_MAX_AGE_S", help="Seconds that unfinished work is kept")
    log_level: LogLevel = setting("info", env="SIE_LOG_LEVEL", flags=("-l", "--log-level"), help="Least level to log")
    log_json: bool = setting(False, env="SIE_LOG_JSON", flags=("--json-logs",), help="Log JSON lines")
