"""Which token goes with a request? The one in the file, read again every minute and whenever the server refused it."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import attrs
import trio

from sie.kube.core.errors import Unavailable
from sie.runtime.world import RunInThread

REREAD_S = 60.0

ReadToken = Callable[[], Awaitable[str]]


@attrs.define(eq=False)
class Bearer:
    read: ReadToken
    _token: str = attrs.field(default="", init=False, repr=False)
    _stale_at: float = attrs.field(default=float("-inf"), init=False)

    async def current(self) -> str:
        """Raises Unavailable where it cannot be read, and none was before."""
        if trio.current_time() >= self._stale_at:
            try:
                self._token = await self.read()
            except (OSError, UnicodeDecodeError) as error:
                if not self._token:
                    raise Unavailable(f"the service account's token: {error}") from error
            self._stale_at = trio.current_time() + REREAD_S
        return self._token

    def refused(self, token: str) -> None:
        """The next request reads it again, unless another has by now."""
        if token == self._token:
            self._stale_at = float("-inf")


def token_in(path: Path, run_in_thread: RunInThread) -> ReadToken:
    async def read() -> str:
        return await run_in_thread(lambda: path.read_text(encoding="utf-8").strip())

    return read


def constant(token: str) -> ReadToken:
    async def read() -> str:
        return token

    return read
