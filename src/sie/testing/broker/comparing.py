"""Do the model and a real nats-server tell a history alike? The model on a jumping clock, the server on real time.

A history counts as a disagreement when it came out otherwise on every one of `TRIES` runs on the real server: a machine
that stands still for longer than the bounds between two lapses is no fault of the model. So a difference that shows
only now and then on the server is not seen here.

Of one race inside the server both ends are right, each step by itself: what is lent where a new message made room tells
how many follow it with the new one counted or not (`counts_first`). Only that number differs, and only there.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import count

import attrs
import trio
from trio.testing import MockClock

from sie.testing.broker.driver import run_history
from sie.testing.broker.face import open_broker
from sie.testing.broker.model import Broker
from sie.testing.broker.shrinking import History, shrink
from sie.testing.broker.sides import MAX_PENDING_BYTES, ModelSide, Side
from sie.testing.broker.steps import Step

TRIES = 3
OpenSide = Callable[[], AbstractAsyncContextManager[Side]]


@attrs.frozen
class Disagreement:
    """The first step that came out otherwise, in words."""

    history: History
    step: int
    model: str
    server: str


def run_on_model(prefix: str, history: Sequence[Step], *, counts_first: bool = False) -> list[str]:
    async def run() -> list[str]:
        model = Broker(trio.current_time, max_pending_bytes=MAX_PENDING_BYTES, counts_first=counts_first)
        async with open_broker(model) as broker:
            return await run_history(ModelSide(broker), prefix, history)

    return trio.run(run, clock=MockClock(autojump_threshold=0))


@attrs.define(eq=False)
class Comparison:
    """`open_side` gives a real server, one for all histories or each its own; `at_once` of them run side by side."""

    open_side: OpenSide
    at_once: int
    runs: int = attrs.field(default=0, init=False)
    _numbers: "count[int]" = attrs.field(factory=count, init=False)

    async def compare(self, histories: Mapping[str, History], *, tries: int = TRIES) -> dict[str, Disagreement]:
        """The disagreements, under the names of their histories."""
        limiter = trio.CapacityLimiter(self.at_once)
        found: dict[str, Disagreement] = {}

        async def compare_one(name: str, history: History) -> None:
            async with limiter:
                disagreement = await self._disagreement(history, tries)
            if disagreement is not None:
                found[name] = disagreement

        async with trio.open_nursery() as nursery:
            for name, history in histories.items():
                nursery.start_soon(compare_one, name, history)
        return {name: found[name] for name in histories if name in found}

    async def shrink(self, disagreement: Disagreement, *, rounds: int) -> Disagreement:
        """With the same words or others, but still a disagreement; what comes after its step is left out first."""
        smallest = _cut(disagreement)

        async def smallest_of(candidates: Sequence[History]) -> History | None:
            nonlocal smallest
            found = await self.compare({str(number): history for number, history in enumerate(candidates)})
            if not found:
                return None
            smallest = min(map(_cut, found.values()), key=lambda one: len(one.history))
            return smallest.history

        await shrink(smallest.history, smallest_of, rounds=rounds)
        return smallest

    async def _disagreement(self, history: History, tries: int) -> Disagreement | None:
        disagreement: Disagreement | None = None
        for _ in range(tries):
            # The same length of name on both sides: it counts in a stream's bytes.
            prefix = f"h{next(self._numbers):06}"
            expected = await trio.to_thread.run_sync(both_on_model, prefix, history)
            self.runs += 1
            async with self.open_side() as side:
                seen = await run_history(side, prefix, history)
            disagreement = first_difference(history, expected, seen)
            if disagreement is None:
                break
        return disagreement


def both_on_model(prefix: str, history: Sequence[Step]) -> list[tuple[str, str]]:
    """Each step with either end of the race."""
    ends = (run_on_model(prefix, history, counts_first=counts_first) for counts_first in (False, True))
    return list(zip(*ends, strict=True))


def first_difference(history: History, expected: Sequence[tuple[str, str]], seen: Sequence[str]) -> Disagreement | None:
    for number, (ends, server) in enumerate(zip(expected, seen, strict=True)):
        if server not in ends:
            return Disagreement(history, number, ends[0], server)
    return None


def _cut(disagreement: Disagreement) -> Disagreement:
    return attrs.evolve(disagreement, history=disagreement.history[: disagreement.step + 1])
