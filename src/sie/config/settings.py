"""The config service's settings (§13)."""

import attrs

from sie.runtime.settings import HashFormName, LogLevel, setting


@attrs.frozen
class ConfigSettings:
    host: str = setting("0.0.0.0", env="SIE_CONFIG_HOST", flags=("--host",), help="Address to listen on")  # noqa: S104
    port: int = setting(8080, env="SIE_CONFIG_PORT", flags=("-p", "--port"), help="Port to listen on, 0 for a free one")
    bundles_dir: str | None = setting(
        None,
        env="SIE_BUNDLES_DIR",
        flags=("--bundles-dir",),
        help="Folder of bundle documents; unset: the installed ones",
    )
    models_dir: str | None = setting(
        None, env="SIE_MODELS_DIR", flags=("--models-dir",), help="Folder of model documents; unset: the installed ones"
    )
    store_dir: str | None = setting(
        None, env="SIE_CONFIG_STORE_DIR", flags=("--store-dir",), help="Where models written through the API are kept"
    )
    restore: bool = setting(
        False, env="SIE_CONFIG_RESTORE", flags=("--restore",), help="Load the store's models at start"
    )
    nats_url: str | None = setting(
        None, env="SIE_NATS_URL", flags=("--nats-url",), help="The broker to tell writes to; unset: nobody is told"
    )
    nats_user: str | None = setting(None, env="SIE_NATS_USER", help="Name at the broker, instead of one in the URL")
    nats_password: str | None = setting(None, env="SIE_NATS_PASSWORD", help="Password of that name", secret=True)
    pod_name: str | None = setting(
        None, env="POD_NAME", help="What gateways know this producer by; unset: host and pid"
    )
    admin_token: str | None = setting(
        None, env="SIE_ADMIN_TOKEN", help="Token for writes, and for all reads", secret=True, empty_counts=True
    )
    config_read_token: str | None = setting(
        None, env="SIE_CONFIG_READ_TOKEN", help="Token for all reads, the export too", secret=True, empty_counts=True
    )
    auth_token: str | None = setting(
        None, env="SIE_AUTH_TOKEN", help="Token for reads, but not for the export", secret=True, empty_counts=True
    )
    deployment_env: str = setting("", env="SIE_DEPLOYMENT_ENV", help="prod or production refuses to stand open")
    env: str = setting("", env="SIE_ENV", help="The same, by its other name")
    hash_form: HashFormName = setting(
        "reference", env="SIE_HASH_FORM", help="Which canonical form configuration hashes have (every service alike)"
    )
    log_level: LogLevel = setting("info", env="SIE_LOG_LEVEL", flags=("-l", "--log-level"), help="Least level to log")
    log_json: bool = setting(False, env="SIE_LOG_JSON", flags=("--json-logs",), help="Log JSON lines")
