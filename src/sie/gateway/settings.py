"""The gateway's settings (§13)."""

import attrs

from sie.bus.jetstream_api import Storage
from sie.runtime.settings import LogLevel, setting


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
        None, env="SIE_ADMIN_TOKEN", secret=True, help="Bearer token shown to the config service"
    )
    request_timeout_s: float = setting(
        120.0, env="SIE_GATEWAY_REQUEST_TIMEOUT", help="Seconds that a request waits for its results"
    )
    stream_storage: Storage = setting("memory", env="SIE_STREAM_STORAGE", help="Where work streams live")
    stream_replicas: int = setting(1, env="SIE_STREAM_REPLICAS", help="Copies of each work stream")
    stream_max_age_s: int = setting(1800, env="SIE_STREAM_MAX_AGE_S", help="Seconds that unfinished work is kept")
    log_level: LogLevel = setting("info", env="SIE_LOG_LEVEL", flags=("-l", "--log-level"), help="Least level to log")
    log_json: bool = setting(False, env="SIE_LOG_JSON", flags=("--json-logs",), help="Log JSON lines")
