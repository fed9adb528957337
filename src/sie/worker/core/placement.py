"""On which of its devices does a worker load a model (§15.1)? Where most memory is free, then where fewest models are.

It stays there until that device is gone; a device that holds all that it may is still better than none.
"""

from collections.abc import Iterable

import attrs


@attrs.frozen
class Site:
    """A device that can take a model. `free_bytes` is infinite where nothing limits it."""

    number: int
    free_bytes: float
    models: int


def decide_device(sites: Iterable[Site]) -> int | None:
    """None: there is no device now."""
    best = min(sites, key=lambda site: (-site.free_bytes, site.models, site.number), default=None)
    return None if best is None else best.number
