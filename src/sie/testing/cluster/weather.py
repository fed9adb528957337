"""What is going wrong in a simulated cluster, and until when did it: the answers and runs that trouble excuses.

Trouble is noted where it takes effect, not where it is ordered: a message when it is lost, a load when it fails.
"""

from collections.abc import Iterator

import attrs
import trio

WORKER_AWAY = "worker away"
"""From the moment a worker is killed or asked to stop until it says that it takes work."""
LANE_CHANGED = "lane changed"
"""From a change of what the workers' lane is compared by until the operator has started old workers again."""
GATEWAY_STARTED = "gateway started"
CHILD_DIED = "child died"
PAYLOADS_AWAY = "payloads away"
PAYLOADS_LOST = "payloads lost"
POOLS_UNREAD = "pools unread"
"""A worker cannot ask the gateways for their pools."""
LOAD_FAILED = "load failed"
"""From a failed load to the next good one of that model on that worker, or to the worker's end."""


@attrs.define(eq=False)
class Weather:
    """A kind of trouble is in force while a spell of it is open."""

    _open: dict[str, int] = attrs.field(factory=dict, init=False)
    _ended_s: dict[str, float] = attrs.field(factory=dict, init=False)

    def note(self, kind: str) -> None:
        """It happened now, and is over."""
        self._ended_s[kind] = trio.current_time()

    def spell(self, kind: str) -> "Spell":
        return Spell(self, kind)

    def ages_s(self) -> Iterator[tuple[str, float]]:
        """How long each kind of trouble has been over, 0 while it is in force."""
        now_s = trio.current_time()
        for kind, ended_s in self._ended_s.items():
            yield kind, 0.0 if self._open.get(kind) else now_s - ended_s

    def began(self, kind: str) -> None:
        self._open[kind] = self._open.get(kind, 0) + 1
        self.note(kind)

    def ended(self, kind: str) -> None:
        self._open[kind] -= 1
        self.note(kind)


@attrs.define(eq=False)
class Spell:
    """One stretch of trouble, which may come again. Beginning or ending twice changes nothing."""

    _weather: Weather
    _kind: str
    is_on: bool = attrs.field(default=False, init=False)

    def begin(self) -> None:
        if not self.is_on:
            self.is_on = True
            self._weather.began(self._kind)

    def end(self) -> None:
        if self.is_on:
            self.is_on = False
            self._weather.ended(self._kind)
