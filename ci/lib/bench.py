"""Measures what the system promises: `ci/bench`, or `ci/bench start --quick`. One JSON line a figure, with its limit.

Figures are ratios and counts taken in one run, so that they mean the same on a slow machine. The exit status is 1 when
one falls short. `--quick` repeats less and settles shorter, for under a minute in all.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from ci.lib.bench_config import config
from ci.lib.bench_convergence import convergence
from ci.lib.bench_dispatch import dispatch
from ci.lib.bench_figure import Figure
from ci.lib.bench_idle import idle
from ci.lib.bench_pools import pools
from ci.lib.bench_start import start
from ci.lib.bench_worker import worker
from ci.lib.demo_system import NotReady
from sie.adapters.api import LoadFailed

Bench = Callable[[bool], Iterator[Figure]]
BENCHES: Mapping[str, Bench] = {
    "start": start,
    "idle": idle,
    "config": config,
    "convergence": convergence,
    "pools": pools,
    "dispatch": dispatch,
    "worker": worker,
}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="ci/bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("benches", nargs="*", metavar="bench", help=f"{', '.join(BENCHES)}; all of them by default")
    parser.add_argument("--quick", action="store_true", help="under a minute for all of them")
    options = parser.parse_args(argv)
    if unknown := set(options.benches) - set(BENCHES):
        parser.error(f"no bench named {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}")
    try:
        return report(run(options.benches or list(BENCHES), quick=options.quick))
    except (LoadFailed, NotReady) as error:
        print(f"ci/bench: {error}", file=sys.stderr)
        return 1


def run(names: Sequence[str], *, quick: bool) -> Iterator[Figure]:
    for name in names:
        yield from BENCHES[name](quick)


def report(figures: Iterator[Figure]) -> int:
    """Print each figure as soon as it is known. Returns the exit status."""
    short = 0
    for figure in figures:
        print(json.dumps(figure.as_json()), flush=True)
        short += not figure.holds
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
