"""Where do `sie dlq`'s dead letters lie? The broker, with the variables that the services have for it."""

import attrs

from sie.runtime.settings import setting


@attrs.frozen
class DlqSettings:
    nats_url: str = setting("nats://127.0.0.1:4222", env="SIE_NATS_URL", flags=("--nats-url",), help="The broker")
    nats_user: str | None = setting(None, env="SIE_NATS_USER", help="Name at the broker, instead of one in the URL")
    nats_password: str | None = setting(None, env="SIE_NATS_PASSWORD", help="Password of that name", secret=True)
