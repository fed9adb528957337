"""Do both services answer one sequence alike? Step by step: the first differences that no rule explains end it."""

import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import attrs
import trio

from ci.lib.compat_config_differing import Difference, Exchange, in_one_form
from ci.lib.compat_config_rules import is_parting, rule_of
from ci.lib.compat_config_services import Observed, Pair, Service
from ci.lib.compat_config_steps import Request, Restart, Sequence, Step

T = TypeVar("T")


@attrs.frozen
class Disagreement:
    """`differences` are the unexplained ones of step `number`."""

    sequence: Sequence
    number: int
    differences: tuple[Difference, ...]

    @property
    def step(self) -> Step:
        return self.sequence.steps[self.number]


@attrs.define
class Comparison:
    """`used` counts how often each rule was needed."""

    pair: Pair
    used: Counter[str] = attrs.field(factory=Counter)
    steps: int = 0
    restarts: int = 0
    _runs: Iterator[int] = attrs.field(factory=itertools.count, init=False)

    async def compare(self, sequence: Sequence) -> Disagreement | None:
        run = next(self._runs)
        ours, theirs = await self._both(Service.epoch)
        try:
            for number, step in enumerate(sequence.steps):
                exchange = await self._take(sequence.flavor, _keyed(step, run), ours, theirs)
                unexplained = self._unexplained(exchange)
                if unexplained is None:
                    return None
                if unexplained:
                    return Disagreement(sequence, number, unexplained)
        finally:
            await self._both(Service.clear)
        return None

    async def shrink(self, found: Disagreement) -> Disagreement:
        """Without each step that it does not need."""
        number, used = 0, self.used.copy()
        while number < len(found.sequence.steps):
            again = await self.compare(found.sequence.without(number))
            if again is None:
                number += 1
            else:
                found = again
        self.used = used
        return found

    async def _take(self, flavor: str, step: Step, ours: int, theirs: int) -> Exchange:
        self.steps += 1
        if isinstance(step, Restart):
            self.restarts += 1
            await self._both(Service.stop)
            await self._both(Service.start)
            return Exchange(flavor, step, {}, {})

        async def ask(service: Service) -> Observed:
            return await service.ask(step)

        one, two = await self._both(ask)
        return Exchange(flavor, step, in_one_form(one, ours), in_one_form(two, theirs))

    def _unexplained(self, exchange: Exchange) -> tuple[Difference, ...] | None:
        """None: what differs is explained, and nothing after it can be compared."""
        named = [(difference, rule_of(exchange, difference)) for difference in exchange.differences]
        unexplained = tuple(difference for difference, rule in named if rule is None)
        rules = {rule for _, rule in named if rule is not None}
        self.used.update(rules)
        return None if not unexplained and is_parting(exchange, rules) else unexplained

    async def _both(self, act: Callable[[Service], Awaitable[T]]) -> tuple[T, T]:
        results: dict[str, T] = {}

        async def one(service: Service) -> None:
            results[service.name] = await act(service)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(one, self.pair.ours)
            nursery.start_soon(one, self.pair.theirs)
        return results["ours"], results["theirs"]


def _keyed(step: Step, run: int) -> Step:
    """Keys of one run are not those of another, whatever a service remembers."""
    key = step.headers.get("Idempotency-Key", "").strip() if isinstance(step, Request) else ""
    if isinstance(step, Request) and key:
        return attrs.evolve(step, headers={**step.headers, "Idempotency-Key": f"{key}.{run}"})
    return step
