"""May more work be queued now (§2)? By what waits in a pool's stream, and by what this gateway has in a lane. Pure.

A lane's decision is always made and counted; it refuses only where that is switched on.
"""

from collections import Counter
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Literal

import attrs
import msgspec

from sie.domain.lane import Lane

Decision = Literal["admitted", "over"]
DEFAULT_STREAM_PENDING = 50_000
DEFAULT_LANE_ITEMS = 4096


@attrs.frozen
class Limits:
    """`is_enforced` is about lanes: the pool's limit always holds."""

    stream_pending: int = DEFAULT_STREAM_PENDING
    lane_items: int = DEFAULT_LANE_ITEMS
    is_enforced: bool = False


@attrs.frozen
class Overload:
    """`words` name the limit and the value seen."""

    words: str


@attrs.define(eq=False)
class Lanes:
    """Work items of this gateway that have no answer yet, by lane. Holds only lanes that have some."""

    limits: Limits = attrs.field(factory=Limits)
    decisions: Counter[Decision] = attrs.field(factory=Counter, init=False)
    _items: Counter[Lane] = attrs.field(factory=Counter, init=False)

    def judge(self, lane: Lane, items: int, *, stream_pending: int) -> Overload | None:
        """A request larger than its lane's limit is taken where the lane has nothing else."""
        waiting, limits = self.in_flight(lane), self.limits
        is_over = waiting > 0 and waiting + items > limits.lane_items
        self.decisions["over" if is_over else "admitted"] += 1
        if stream_pending >= limits.stream_pending:
            return Overload(
                f"{stream_pending} items wait in the queue, and it takes no more from {limits.stream_pending}"
            )
        if is_over and limits.is_enforced:
            words = f"{waiting} items of this gateway wait in lane {lane}, and {items} more would pass"
            return Overload(f"{words} its limit of {limits.lane_items}")
        return None

    def holding(self, lane: Lane, items: int) -> AbstractContextManager[None]:
        """As long as the block lasts."""
        return _Holding(self._items, lane, items)

    def in_flight(self, lane: Lane) -> int:
        return self._items.get(lane, 0)


class _Holding(msgspec.Struct, frozen=True):
    """Every request has one, and a generator would cost several times as much."""

    held: Counter[Lane]
    lane: Lane
    items: int

    def __enter__(self) -> None:
        self.held[self.lane] += self.items

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        left = self.held.pop(self.lane) - self.items
        if left:
            self.held[self.lane] = left
