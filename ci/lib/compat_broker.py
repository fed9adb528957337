"""Compares the broker double with a real nats-server: `ci/compat broker`, or `ci/compat broker --quick`.

Histories drawn from the seed run on both: most share one server, some (`--own`) restart one of their own. One JSON line
says how many, and one more describes each disagreement; the first is shrunk. Each lies in a file that `--replay` takes.
The exit status is 1 when there is one.
"""

import argparse
import json
import logging
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import trio

from sie.testing.broker.comparing import Disagreement
from sie.testing.broker.histories import Flavor, draw_history
from sie.testing.broker.servers import open_comparison
from sie.testing.broker.shrinking import History
from sie.testing.broker.steps import RestartStep, from_json, to_json

HISTORIES = 500
OWN = 60
STEPS = 50
QUICK_HISTORIES = 40
QUICK_OWN = 4
QUICK_STEPS = 30
SHRINK_ROUNDS = 8  # each takes up to three times as long as its longest history


def main(argv: Sequence[str]) -> int:
    options = arguments_of(argv)
    logging.disable(logging.CRITICAL)  # a restart is no news here
    if options.replay:
        found = trio.run(replay, options.replay, from_json(options.replay.read_text(encoding="utf-8")))
    else:
        found = trio.run(look, options)
    return 1 if found else 0


def arguments_of(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ci/compat broker", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=HISTORIES, help="that share a server")
    parser.add_argument("--own", type=int, default=OWN, help="that restart a server of their own")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--quick", action="store_true", help="few and short ones")
    parser.add_argument("--no-shrink", action="store_true", help="describe disagreements as they were found")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="the one history of this file")
    options = parser.parse_args(argv)
    if options.quick:
        options.histories, options.own, options.steps = QUICK_HISTORIES, QUICK_OWN, QUICK_STEPS
    return options


async def look(options: argparse.Namespace) -> int:
    """How many disagreements there are."""
    disagreements = 0
    flavors: tuple[tuple[Flavor, int], ...] = (("shared", options.histories), ("own", options.own))
    for flavor, number in flavors:
        if number:
            disagreements += await look_at(flavor, number, options)
    return disagreements


async def look_at(flavor: Flavor, number: int, options: argparse.Namespace) -> int:
    began = time.monotonic()
    names = [f"{options.seed}.{n}" for n in range(number)]
    drawn = {name: draw_history(name, options.steps, flavor) for name in names}
    async with open_comparison(flavor) as comparison:
        found = await comparison.compare(drawn)
        summary = {
            "compat": "broker",
            "server": flavor,
            "histories": number,
            "steps": sum(map(len, drawn.values())),
            "runs": comparison.runs,
            "disagreements": len(found),
            "seconds": round(time.monotonic() - began, 1),
        }
        say(summary)
        if found and not options.no_shrink:
            first = next(iter(found))
            found[first] = await comparison.shrink(found[first], rounds=SHRINK_ROUNDS)
    for line in described(found, flavor):
        say(line)
    return len(found)


def described(found: Mapping[str, Disagreement], flavor: Flavor) -> Iterator[Mapping[str, object]]:
    folder = Path(tempfile.mkdtemp(prefix="compat-broker-")) if found else Path()
    for name, disagreement in found.items():
        path = folder / f"{flavor}-{name}.json"
        path.write_text(to_json(disagreement.history), encoding="utf-8")
        yield in_words(name, disagreement, path)


async def replay(path: Path, history: History) -> int:
    flavor: Flavor = "own" if any(isinstance(step, RestartStep) for step in history) else "shared"
    async with open_comparison(flavor) as comparison:
        found = await comparison.compare({path.name: history})
    for name, disagreement in found.items():
        say(in_words(name, disagreement, path))
    say({"compat": "broker", "steps": len(history), "disagreements": len(found)})
    return len(found)


def say(line: Mapping[str, object]) -> None:
    """At once: a whole run takes minutes."""
    print(json.dumps(line), flush=True)


def in_words(name: str, disagreement: Disagreement, path: Path) -> Mapping[str, object]:
    return {
        "history": name,
        "steps": len(disagreement.history),
        "step": disagreement.step,
        "model": disagreement.model,
        "server": disagreement.server,
        "replay": f"ci/compat broker --replay {path}",
    }
