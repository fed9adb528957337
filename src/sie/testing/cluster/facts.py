"""What is known from outside of one life of a process: what a worker has said and holds, what a gateway has heard."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping

import attrs
import trio

from sie.domain.worker import HEARTBEAT_STALE_S
from sie.gateway.dispatch.dispatcher import Dispatcher
from sie.testing.cluster.authority import AuthorityLink
from sie.testing.cluster.demand_rules import DemandRules
from sie.testing.cluster.direct_rules import DirectRules
from sie.testing.cluster.leases import Leases
from sie.testing.cluster.machine import WallClock
from sie.testing.cluster.pools_link import PoolsLink
from sie.testing.cluster.shown import Shown
from sie.testing.cluster.weather import LOAD_FAILED, Spell, Weather
from sie.wire.codec import unpack

SAME_S = 0.001
"""Times this close are one instant: wall time is told with less precision than the simulation's own."""
CLOSING_S = 10.0
"""In which a worker that heard that its consumer is gone closes what is open, where its connection is slow."""
WAITING_S = 15.0
"""For as long a delta may have waited for its turn when an export began to be read."""
POOL_STREAM = "WORK_POOL_"
MOST_HEARD = 64
"""Heartbeats kept of each worker: a minute and more."""


@attrs.define(eq=False)
class WorkerFacts:
    """`has_ensured`: the lane's consumer was asked for since the worker last heard that it is gone.

    `pulled` names the stream of each of its pull's reply subjects; `cancels` when a cancel reached it, by request, and
    `withdrawals` by item of its own queue.
    """

    name: str
    unix_s: Callable[[], float]
    link: AuthorityLink
    pools: PoolsLink
    weather: Weather
    leases: Leases = attrs.field(factory=Leases)
    answered: dict[str, bytes] = attrs.field(factory=dict)
    refusing: set[str] = attrs.field(factory=set)
    """Serving ids whose load failed for good."""
    failed: dict[str, Spell] = attrs.field(factory=dict)
    """Each serving id whose load failed, until one is done."""
    has_ensured: bool = False
    ensure_due_s: float = 0.0
    is_ready: bool = False
    is_draining: bool = False
    queue_depth: int = 0
    pulled: dict[str, str] = attrs.field(factory=dict)
    cancels: dict[str, float] = attrs.field(factory=dict)
    withdrawals: dict[str, float] = attrs.field(factory=dict)

    def load_ended(self, serving_id: str, *, failed: bool) -> None:
        spell = self.failed.setdefault(serving_id, self.weather.spell(LOAD_FAILED))
        spell.begin() if failed else spell.end()

    def lose_consumer(self, stream: str) -> None:
        self.leases.forfeit(stream)
        if not stream.startswith(POOL_STREAM):
            return
        is_slow = ("Latency", 0.0) in self.weather.ages_s()
        self.has_ensured, self.ensure_due_s = False, trio.current_time() + (CLOSING_S if is_slow else 0.0)

    def end(self) -> None:
        for spell in self.failed.values():
            spell.end()

    @property
    def has_failed(self) -> bool:
        return any(spell.is_on for spell in self.failed.values())


@attrs.frozen
class Heard:
    """One heartbeat as a gateway got it."""

    at_s: float
    takes_work: bool
    config_hash: str


@attrs.define(eq=False)
class GatewayFacts:
    """`heard` is by worker, the newest last. `shown` is what it showed of its registry at the last look, after so many
    exports.
    """

    name: str
    clock: WallClock
    link: AuthorityLink
    demand: DemandRules
    direct: DirectRules
    dispatcher: Dispatcher | None = None
    """What it is made of; None until it serves."""
    heard: dict[str, deque[Heard]] = attrs.field(factory=dict)
    delta_s: float = float("-inf")
    forged_s: float = float("-inf")
    """When the last delta came, and the last that was forged in a trusted name."""
    shown: Shown | None = None
    shown_exports: int = 0

    @property
    def is_unsure(self) -> bool:
        """It may hold more than the export that it has read."""
        return not self.link.has_read or self.link.is_partial or self._is_after_export(self.delta_s)

    @property
    def has_forged(self) -> bool:
        return self._is_after_export(self.forged_s)

    def _is_after_export(self, at_s: float) -> bool:
        """What comes while an export is read is judged after it, one that came a little earlier perhaps too."""
        return at_s >= self.link.covered_s - WAITING_S

    def hear(self, data: bytes) -> None:
        body = fields(data)
        takes_work = body.get("ready") is True and body.get("draining") is False
        beat = Heard(trio.current_time(), takes_work, str(body.get("bundle_config_hash")))
        self.heard.setdefault(str(body.get("name")), deque(maxlen=MOST_HEARD)).append(beat)

    def could_use(self, config_hash: str, at_s: float) -> bool:
        """Was there a worker to route to? What is heard at this very instant may count or not, so it counts here."""
        return any(
            beat.takes_work and beat.config_hash == config_hash
            for beats in self.heard.values()
            for beat in _current(beats, at_s)
        )

    def must_use(self, config_hash: str, at_s: float) -> bool:
        """The same, where the gateway cannot but know it."""
        rows = [tuple(_current(beats, at_s)) for beats in self.heard.values()]
        return any(
            len(row) == 1 and at_s - HEARTBEAT_STALE_S < row[0].at_s < at_s - SAME_S and _fits(row[0], config_hash)
            for row in rows
        )


def _fits(beat: Heard, config_hash: str) -> bool:
    return beat.takes_work and beat.config_hash == config_hash


def _current(beats: deque[Heard], at_s: float) -> Iterator[Heard]:
    """The last beat before an instant where it is not stale, and all at that instant."""
    before = [beat for beat in beats if beat.at_s < at_s - SAME_S]
    if before and before[-1].at_s >= at_s - HEARTBEAT_STALE_S:
        yield before[-1]
    yield from (beat for beat in beats if abs(beat.at_s - at_s) <= SAME_S)


def fields(data: bytes) -> Mapping[object, object]:
    body = unpack(data)
    return body if isinstance(body, Mapping) else {}
