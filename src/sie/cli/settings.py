"""What can be set on `sie up`: the settings that it hands on to its processes, and the folders it keeps."""

import attrs

from sie.runtime.settings import setting

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"


@attrs.frozen
class UpSettings:
    host: str = setting("127.0.0.1", env="SIE_GATEWAY_HOST", help="Where the gateway listens", flags=("--host",))
    port: int = setting(
        8080, env="SIE_GATEWAY_PORT", help="The gateway's port, 0 for any free one", flags=("-p", "--port")
    )
    preload: tuple[str, ...] = setting(
        (DEFAULT_MODEL,),
        env="SIE_PRELOAD",
        help="A model that the worker loads at start; may be given more than once",
        flags=("--preload",),
    )
    state_dir: str | None = setting(
        None,
        env="SIE_STATE_DIR",
        help="Streams, stored configuration and logs; ~/.local/state/sie",
        flags=("--state-dir",),
    )
    cache_dir: str | None = setting(
        None, env="SIE_CACHE_DIR", help="Weights and compiled programs; ~/.cache/sie", flags=("--cache-dir",)
    )
    auth_tokens: tuple[str, ...] = setting(
        (), env="SIE_AUTH_TOKENS", secret=True, help="Tokens of the gateway; one is shown when it is looked at"
    )
    auth_token: str | None = setting(None, env="SIE_AUTH_TOKEN", secret=True, help="One more of them")
    admin_token: str | None = setting(None, env="SIE_ADMIN_TOKEN", secret=True, help="Taken where neither is set")

    @property
    def look_token(self) -> str | None:
        """What the gateway lets in to be looked at, where it asks for a token at all."""
        return next((token for token in (*self.auth_tokens, self.auth_token, self.admin_token) if token), None)
