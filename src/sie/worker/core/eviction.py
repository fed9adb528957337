"""Is there room on a device for one more model, and which others leave it for that? Least recently used first.

A model that is pinned or preloaded never leaves. One whose work runs or waits leaves only when all that are idle are
not enough, and only for work that is older than its own; one that was loaded for work runs some of it before.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import attrs

NO_WORK = float("inf")
"""As the oldest order of a model for which nothing waits: younger than any."""


@attrs.frozen
class Resident:
    """A model on the device, or on its way to it. `waiting` is the order of the oldest work that waits for it.

    `is_fixed`: it does not leave now, for it is just coming or going. A pinned or preloaded one `is_kept` for good.
    """

    serving_id: str
    memory_bytes: int
    used_s: float = 0.0
    is_kept: bool = False
    is_fixed: bool = False
    is_leaving: bool = False
    is_running: bool = False
    has_run: bool = True
    waiting: float = NO_WORK

    @property
    def is_idle(self) -> bool:
        return not self.is_running and self.waiting == NO_WORK


@attrs.frozen
class Fits:
    """It can be loaded now."""


@attrs.frozen
class Evict:
    """It can once these are gone; they may be told to go now."""

    serving_ids: tuple[str, ...]


@attrs.frozen
class Later:
    """It can when something else has changed."""


@attrs.frozen
class Never:
    """It is larger than what the device has beside the models that stay."""

    room_bytes: int


Room: TypeAlias = Fits | Evict | Later | Never


def plan_room(
    need_bytes: int, budget_bytes: int | None, residents: Sequence[Resident], *, waiting: float = NO_WORK
) -> Room:
    """For a model of `need_bytes`, whose oldest work has the order `waiting`. No budget: there is always room."""
    if budget_bytes is None:
        return Fits()
    kept = sum(resident.memory_bytes for resident in residents if resident.is_kept)
    if need_bytes > budget_bytes - kept:
        return Never(max(0, budget_bytes - kept))
    used = sum(resident.memory_bytes for resident in residents)
    short = used + need_bytes - budget_bytes
    if short <= 0:
        return Fits()
    short -= sum(resident.memory_bytes for resident in residents if resident.is_leaving)
    if short <= 0:
        return Later()
    victims = _enough(_in_order(residents, waiting), short)
    return Evict(victims) if victims else Later()


def idle_ones(residents: Iterable[Resident]) -> tuple[str, ...]:
    """All that may leave without anybody missing them."""
    return tuple(resident.serving_id for resident in residents if _may_leave(resident) and resident.is_idle)


def _in_order(residents: Sequence[Resident], waiting: float) -> list[Resident]:
    """The idle by age of use, then those whose own work is younger than what waits, the youngest first."""
    movable = [resident for resident in residents if _may_leave(resident)]
    idle = sorted((one for one in movable if one.is_idle), key=lambda one: (one.used_s, one.serving_id))
    busy = [one for one in movable if not one.is_idle and one.has_run and one.waiting > waiting]
    return [*idle, *sorted(busy, key=lambda one: (-one.waiting, one.used_s, one.serving_id))]


def _may_leave(resident: Resident) -> bool:
    return not (resident.is_kept or resident.is_fixed or resident.is_leaving)


def _enough(candidates: Sequence[Resident], short_bytes: int) -> tuple[str, ...]:
    """The first that free so much, without those that are not needed for it then; none where all are too little."""
    taken: list[Resident] = []
    freed = 0
    for candidate in candidates:
        if freed >= short_bytes:
            break
        taken.append(candidate)
        freed += candidate.memory_bytes
    if freed < short_bytes:
        return ()
    for one in tuple(taken):
        if freed - one.memory_bytes >= short_bytes:
            taken.remove(one)
            freed -= one.memory_bytes
    return tuple(one.serving_id for one in taken)
