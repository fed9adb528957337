"""What does a gateway ask of the place where pools are kept? Protocols; `memory` is one such place.

A store tells its listener of every pool that it holds, of each change, whoever made it, and of each that goes. What a
call of this gateway changed, the listener has been told when the call returns.
"""

from typing import Protocol

from sie.domain.ids import PoolName
from sie.domain.pool import Pool, PoolSpec


class StoreAway(Exception):
    """The place where pools are kept cannot be asked now; whether the change took effect is unknown."""


class PoolListener(Protocol):
    """Both return at once."""

    def kept(self, pool: Pool) -> None: ...

    def gone(self, name: PoolName) -> None: ...


class PoolStore(Protocol):
    """Dynamic pools alone: protected ones are the deployment's. Times are unix seconds. All but `expire` may raise
    StoreAway.
    """

    async def put(self, spec: PoolSpec, now_s: float) -> Pool:
        """Make it; or, where there is one of its name, give it this spec and renew it."""
        ...

    async def renew(self, name: PoolName, now_s: float) -> Pool | None:
        """None where there is none."""
        ...

    async def delete(self, name: PoolName) -> bool:
        """Whether there was one."""
        ...

    async def expire(self, seen: Pool) -> bool:
        """Remove it if it still is as it was seen: whoever renewed or removed it meanwhile is right."""
        ...
