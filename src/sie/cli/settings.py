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
