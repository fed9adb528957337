"""The config service's settings (§13)."""

import attrs

from sie.runtime.settings import LogLevel, setting


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
    log_level: LogLevel = setting("info", env="SIE_LOG_LEVEL", flags=("-l", "--log-level"), help="Least level to log")
    log_json: bool = setting(False, env="SIE_LOG_JSON", flags=("--json-logs",), help="Log JSON lines")
