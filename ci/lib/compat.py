"""Compares the broker double with a real nats-server: `ci/compat broker`, or `ci/compat broker --quick`.

Histories drawn from the seed run on both; one JSON line says how many, and one more describes each disagreement: its
`history` is what `--replay` takes. The exit status is 1 when there is one.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import trio

from sie.testing.broker.comparing import Disagreement, compare
from sie.testing.nats_server import open_nats_server

HISTORIES = 500
STEPS = 50
QUICK_HISTORIES = 40
QUICK_STEPS = 30
AT_ONCE = 40  # more of them share two cores badly, and steps take longer than the lapses allow


def main(argv: Sequence[str]) -> int:
    options = arguments_of(argv)
    names = [options.replay] if options.replay else [f"{options.seed}.{n}" for n in range(options.histories)]
    began = time.monotonic()
    found = trio.run(run, names, options.steps)
    for disagreement in found:
        print(json.dumps(in_words(disagreement, options.steps)), flush=True)
    summary = {
        "compat": "broker",
        "histories": len(names),
        "steps": len(names) * options.steps,
        "disagreements": len(found),
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(summary), flush=True)
    return 1 if found else 0


def arguments_of(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ci/compat", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("double", choices=["broker"])
    parser.add_argument("--histories", type=int, default=HISTORIES)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_HISTORIES} histories of {QUICK_STEPS} steps")
    parser.add_argument("--replay", metavar="HISTORY", help="the one history of this name, with the same --steps")
    options = parser.parse_args(argv)
    if options.quick:
        options.histories, options.steps = QUICK_HISTORIES, QUICK_STEPS
    return options


async def run(names: Sequence[str], steps: int) -> list[Disagreement]:
    with tempfile.TemporaryDirectory() as folder:
        async with open_nats_server(store_dir=Path(folder)) as server:
            return await compare(server.url, names, steps, at_once=AT_ONCE)


def in_words(disagreement: Disagreement, steps: int) -> dict[str, object]:
    return {
        "history": disagreement.seed,
        "step": disagreement.step,
        "model": disagreement.model,
        "server": disagreement.server,
        "replay": f"ci/compat broker --steps {steps} --replay {disagreement.seed}",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
