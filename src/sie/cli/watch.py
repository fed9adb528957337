"""Looks at the processes until all are ready, and again whenever one of them has been started anew."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NoReturn

import attrs
import trio

from sie.cli.deaths import Phase
from sie.cli.failure import Failure
from sie.cli.family import Family
from sie.cli.plan import Plan, life_id
from sie.cli.ports import LOOPBACK
from sie.cli.probe import fetch, greets
from sie.cli.readiness import Broken, Busy, Ready, State, all_loaded, judge_worker, read_workers

LOOK_EVERY_S: Mapping[Phase, float] = {"starting": 0.08, "running": 0.5}
"""People wait for the start to the tenth of a second; a look takes a few milliseconds of processor time."""
STALLED_S = 600.0
"""A start in which nothing changes for so long will not come to an end by itself."""

States = Mapping[str, State | None]


async def watch_forever(family: Family, plan: Plan, on_ready: Callable[[], None]) -> NoReturn:
    """`on_ready` is called the first time that everything is ready."""
    while True:
        await family.unsettled.wait()
        await _settle_once(family, Eye(plan))
        if family.phase == "starting":
            on_ready()
        family.settle()


async def _settle_once(family: Family, eye: "Eye") -> None:
    """Look, show and wait until all are ready. While the system starts, what cannot become ready ends it."""
    last, changed_at_s = None, trio.current_time()
    while not _all_ready(states := await eye.look(family.lives)):
        _show(family, states)
        if states != last:
            last, changed_at_s = states, trio.current_time()
        if failure := _judge_start(states, trio.current_time() - changed_at_s, family):
            family.fail(failure)
        await trio.sleep(LOOK_EVERY_S[family.phase])
        family.screen.tick()
    _show(family, states)


def _all_ready(states: States) -> bool:
    return all(isinstance(state, Ready) for state in states.values())


def _judge_start(states: States, unchanged_s: float, family: Family) -> Failure | None:
    if family.phase != "starting":
        return None
    for state in states.values():
        if isinstance(state, Broken):
            return Failure(state.reason)
    return Failure(f"nothing has changed for {STALLED_S:g} s") if unchanged_s > STALLED_S else None


def _show(family: Family, states: States) -> None:
    for name, state in states.items():
        match state:
            case Ready():
                family.screen.state(name, "ready")
            case Busy(doing):
                family.screen.state(name, doing)
            case Broken():
                family.screen.state(name, "cannot load its models")
            case None:
                """Its keeper has said that it starts, or that it died."""


@attrs.define
class Eye:
    """What answers is not asked again in the same life: looking costs those who start the time that they need."""

    plan: Plan
    _answered: set[str] = attrs.field(factory=set)

    async def look(self, lives: Mapping[str, int]) -> States:
        host, ports = self.plan.host, self.plan.ports
        nats = await self._once(life_id("nats", lives["nats"]), lambda: greets(LOOPBACK, ports.nats))
        config = await self._once(life_id("config", lives["config"]), lambda: _answers(ports.config, "/readyz"))
        health = await fetch(host, ports.gateway, "/health", token=self.plan.look_token)
        return {
            "nats": Ready() if nats else None,
            "config": Ready() if config else None,
            "gateway": Ready() if health is not None else None,
            "worker": await self._worker(life_id("worker", lives["worker"]), health),
        }

    async def _once(self, life: str, ask: Callable[[], Awaitable[bool]]) -> bool:
        if life not in self._answered and await ask():
            self._answered.add(life)
        return life in self._answered

    async def _worker(self, life: str, health: bytes | None) -> State | None:
        """The worker is ready when requests for its models are."""
        state = judge_worker(read_workers(health), life, self.plan.models)
        if not isinstance(state, Ready):
            return state
        models = await fetch(self.plan.host, self.plan.ports.gateway, "/v1/models", token=self.plan.look_token)
        return state if all_loaded(models, self.plan.models) else Busy("loaded, its gateway does not route to it yet")


async def _answers(port: int, path: str) -> bool:
    return await fetch(LOOPBACK, port, path) is not None
