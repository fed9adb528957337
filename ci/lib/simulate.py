"""Run the whole cluster with faults, in simulation, on every core: `ci/simulate --seconds 60`, or `--replay FILE`.

Prints JSON lines: what was run, how often each fault was injected, how requests ended; for a failure the broken rule
and the shrunk script, which `--replay` runs again. `--mutants` runs the seeded bugs and prints the steps until each
was caught. The exit status is 1 when a rule was broken, or a seeded bug was not caught.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from property_tests.simulation.mutants import MUTANTS
from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.simulation.run import run_script
from sie.testing.simulation.script import from_json, to_json
from sie.testing.simulation.search import Tally, search

CHUNK = 25
"""Scripts of one seed; a core goes on to another seed after them."""
MUTANT_SEEDS = 3
MUTANT_STEPS = 2000
MUTANT_EXAMPLES = 200
QUICK_S = 20.0


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="ci/simulate", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look, on each core")
    parser.add_argument("--seed", type=int, default=0, help="where to begin")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run this script, and print its event log")
    parser.add_argument("--mutants", action="store_true", help="run the seeded bugs")
    parser.add_argument("--quick", action="store_true", help=f"look for {QUICK_S:g} s, or run each seeded bug once")
    options = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)  # a simulated fault is logged as a real one, thousands of times
    if options.replay:
        return replay(options.replay)
    if options.mutants:
        return mutants(options.seed, 1 if options.quick else MUTANT_SEEDS)
    return look(options.seed, QUICK_S if options.quick else options.seconds)


def look(first_seed: int, seconds: float) -> int:
    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores, initializer=logging.disable, initargs=(logging.CRITICAL,)) as pool:
        tallies = list(pool.map(partial(look_on_one_core, seconds), range(first_seed, first_seed + cores)))
    print(json.dumps(summary(tallies, seconds * cores)), flush=True)
    failures = [tally for tally in tallies if tally.failure is not None]
    for number, tally in enumerate(failures):
        print(json.dumps(failure(tally, Path(f"simulation-{first_seed}-{number}.json"))), flush=True)
    return 1 if failures else 0


def look_on_one_core(seconds: float, number: int) -> Tally:
    """One seed after another, a thousand apart, until time is up or a rule is broken."""
    ends_s = time.monotonic() + seconds
    total = Tally()
    with catalogue() as folders:
        while total.failure is None and time.monotonic() < ends_s:
            tally = search(folders, number, CHUNK, shrink=False, is_over=lambda: time.monotonic() > ends_s)
            total.merge(tally)
            if tally.failure is not None:
                shrunk = search(folders, number, CHUNK, shrink=True)
                total.failure, total.violations = shrunk.failure or total.failure, shrunk.violations or total.violations
            number += 1000
    return total


def mutants(first_seed: int, seeds: int) -> int:
    jobs = [(name, first_seed + number) for name in MUTANTS for number in range(seeds)]
    with ProcessPoolExecutor(initializer=logging.disable, initargs=(logging.CRITICAL,)) as pool:
        found: list[int | None] = list(pool.map(steps_to_catch, jobs))
    fine = True
    for name, mutant in MUTANTS.items():
        steps = [taken for (tried, _), taken in zip(jobs, found, strict=True) if tried == name]
        caught = [taken for taken in steps if taken is not None]
        fine &= len(caught) == len(steps) and sum(caught) <= MUTANT_STEPS * len(caught)
        print(json.dumps({"mutant": name, "about": mutant.about, "steps": steps}), flush=True)
    return 0 if fine else 1


def steps_to_catch(job: tuple[str, int]) -> int | None:
    """None: it was not caught."""
    name, number = job
    with catalogue() as folders, MUTANTS[name].swapped():
        tally = search(folders, number, MUTANT_EXAMPLES, shrink=False)
    return tally.steps if tally.failure is not None else None


def replay(path: Path) -> int:
    with catalogue() as folders:
        report = run_script(from_json(path.read_text(encoding="utf-8")), folders)
    print(report.log, end="")
    print(json.dumps({"violations": list(report.violations), "endings": report.endings}), flush=True)
    return 1 if report.violations else 0


def summary(tallies: Sequence[Tally], core_seconds: float) -> Mapping[str, object]:
    total = Tally()
    for tally in tallies:
        total.merge(tally)
    return {
        "scripts": total.scripts,
        "steps": total.steps,
        "requests": total.requests,
        "requests_per_s_per_core": round(total.requests / core_seconds, 1),
        "faults": total.faults,
        "endings": total.endings,
        "states": total.states,
    }


def failure(tally: Tally, path: Path) -> Mapping[str, object]:
    assert tally.failure is not None
    path.write_text(to_json(tally.failure), encoding="utf-8")
    return {"broken": list(tally.violations), "replay": f"ci/simulate --replay {path}"}


@contextmanager
def catalogue() -> Iterator[CatalogueFolders]:
    with tempfile.TemporaryDirectory() as folder:
        yield CatalogueFolders.write(Path(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
