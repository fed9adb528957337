"""How do two writers change one object without losing either's change? Read, change, replace; on a conflict, again."""

from collections.abc import Callable

import trio

from sie.kube.api import Objects
from sie.kube.core.documents import Kind
from sie.kube.core.errors import AlreadyExists, Conflict, NotFound
from sie.kube.core.values import T

ATTEMPTS = 10
FIRST_WAIT_S = 0.01
CAP_S = 0.5


async def compare_and_swap(
    kube: Objects,
    kind: Kind[T],
    name: str,
    change: Callable[[T | None], T | None],
    *,
    luck: Callable[[], float],
    attempts: int = ATTEMPTS,
) -> T | None:
    """What is there afterwards. `change` is pure and may run several times: it takes the object, None where there is
    none, and returns what should be there, None for leaving all as it is. It keeps the metadata that it was given.

    Raises Conflict when others were quicker `attempts` times; any other KubeError at once: after `Unavailable` the
    write may have happened, which the next read shows.
    """
    for attempt in range(attempts):
        if attempt:
            await trio.sleep(min(CAP_S, FIRST_WAIT_S * 2**attempt) * luck())
        current = await read_or_none(kube, kind, name)
        wanted = change(current)
        if wanted is None or wanted == current:
            return current
        if (written := await _write_or_none(kube, kind, current, wanted)) is not None:
            return written
    raise Conflict(f"{kind.plural} {name}: others were quicker {attempts} times")


async def _write_or_none(kube: Objects, kind: Kind[T], current: T | None, wanted: T) -> T | None:
    """None where another made, changed or deleted it in between."""
    if current is None:
        try:
            return await kube.create(kind, wanted)
        except AlreadyExists:
            return None
    if wanted.metadata.resource_version != current.metadata.resource_version:
        raise ValueError("a change must keep the resource version: without it a replace would undo others' changes")
    try:
        return await kube.replace(kind, wanted)
    except (Conflict, NotFound):
        return None


async def read_or_none(kube: Objects, kind: Kind[T], name: str) -> T | None:
    try:
        return await kube.get(kind, name)
    except NotFound:
        return None
