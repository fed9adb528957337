"""The name of every environment variable that any part of the system reads, so that a misspelt one can be told.

A project test holds this list to the settings classes; the table with meanings and defaults is `spec/generated/env.md`.
"""

VARIABLES: frozenset[str] = frozenset(
    {
        "POD_NAME",
        "SIE_ADMIN_TOKEN",
        "SIE_AUTH_TOKEN",
        "SIE_BUNDLE",
        "SIE_BUNDLES_DIR",
        "SIE_CACHE_DIR",
        "SIE_CONFIG_FILE",
        "SIE_CONFIG_HOST",
        "SIE_CONFIG_PORT",
        "SIE_CONFIG_READ_TOKEN",
        "SIE_CONFIG_RESTORE",
        "SIE_CONFIG_SERVICE_URL",
        "SIE_CONFIG_STORE_DIR",
        "SIE_DEPLOYMENT_ENV",
        "SIE_DEVICE",
        "SIE_ENV",
        "SIE_GATEWAY_HOST",
        "SIE_GATEWAY_PORT",
        "SIE_GATEWAY_REQUEST_TIMEOUT",
        "SIE_HASH_FORM",
        "SIE_LOG_JSON",
        "SIE_LOG_LEVEL",
        "SIE_MACHINE_PROFILE",
        "SIE_MODELS_DIR",
        "SIE_NATS_PASSWORD",
        "SIE_NATS_URL",
        "SIE_NATS_USER",
        "SIE_OFFLINE",
        "SIE_POOL",
        "SIE_PRELOAD",
        "SIE_STATE_DIR",
        "SIE_STREAM_MAX_AGE_S",
        "SIE_STREAM_REPLICAS",
        "SIE_STREAM_STORAGE",
        "SIE_WORKER_ID",
    }
)
