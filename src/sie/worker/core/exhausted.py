"""A batch for which the device's memory was not enough: which of its items, and what is left to do for them (§2)?

The backend has tried ever smaller parts already. Idle models leave, then it is tried once more; after that the item may
have more luck later, where others use the device too, or its caller is told. The worker stays as healthy as it was.
"""

from collections.abc import Sequence
from typing import Literal

import attrs

from sie.domain.errors import ErrorCode
from sie.wire.ipc import Finished

OOM_NAK_S = 10.0
"""Before another try of the same work (decisions)."""


@attrs.frozen
class Split:
    """By the places of the items in their batch."""

    settled: tuple[int, ...]
    exhausted: tuple[int, ...]


def split_exhausted(answer: Finished) -> Split:
    places = range(len(answer.outcomes))
    short = [answer.outcomes[place].error_code == ErrorCode.RESOURCE_EXHAUSTED for place in places]
    return Split(tuple(p for p in places if not short[p]), tuple(p for p in places if short[p]))


def part_of(answer: Finished, places: Sequence[int]) -> Finished:
    """With the times of the whole."""
    return attrs.evolve(answer, outcomes=tuple(answer.outcomes[place] for place in places))


def decide_exhausted(*, deliveries: int, has_company: bool) -> Literal["again", "tell"]:
    """Once more where other models have the device too, which may have left by then; or on another worker."""
    return "again" if has_company and deliveries <= 1 else "tell"
