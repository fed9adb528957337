"""Do the model and a real nats-server tell a history alike? The model on a jumping clock, the server on real time.

A history counts as a disagreement when it comes out otherwise on the real server several times: a machine that stands
still for longer than the bounds between two lapses is no fault of the model.
"""

from collections.abc import Sequence

import attrs
import trio
from trio.testing import MockClock

from sie.bus.nats import open_bus
from sie.testing.broker.driver import run_history
from sie.testing.broker.face import open_broker, open_broker_bus
from sie.testing.broker.histories import Step, draw_history

TRIES = 3


@attrs.frozen
class Disagreement:
    """The first step that came out otherwise, in words."""

    seed: str
    step: int
    model: str
    server: str


def run_on_model(prefix: str, history: tuple[Step, ...]) -> list[str]:
    async def run() -> list[str]:
        async with open_broker() as broker, open_broker_bus(broker, "", inbox="_INBOX.m", name=prefix) as bus:
            return await run_history(bus, prefix, history)

    return trio.run(run, clock=MockClock(autojump_threshold=0))


async def compare(url: str, seeds: Sequence[str], steps: int, *, at_once: int) -> list[Disagreement]:
    """Run the histories of these seeds on both, `at_once` of them side by side on the server."""
    limiter = trio.CapacityLimiter(at_once)
    found: dict[str, Disagreement] = {}

    async def compare_one(seed: str) -> None:
        async with limiter:
            history = draw_history(seed, steps)
            for attempt in range(TRIES):
                # The same length of name on both sides: it counts in a stream's bytes.
                prefix = f"h{seed.replace('.', '_')}t{attempt}"
                expected = await trio.to_thread.run_sync(run_on_model, prefix, history)
                async with open_bus(url, inbox=f"_INBOX.{prefix}", name=prefix) as bus:
                    seen = await run_history(bus, prefix, history)
                if (disagreement := first_difference(seed, expected, seen)) is None:
                    found.pop(seed, None)
                    return
                found[seed] = disagreement

    async with trio.open_nursery() as nursery:
        for seed in seeds:
            nursery.start_soon(compare_one, seed)
    return [found[seed] for seed in sorted(found)]


def first_difference(seed: str, expected: Sequence[str], seen: Sequence[str]) -> Disagreement | None:
    for number, (model, server) in enumerate(zip(expected, seen, strict=True)):
        if model != server:
            return Disagreement(seed, number, model, server)
    return None
