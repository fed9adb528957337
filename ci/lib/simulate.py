"""Run the whole cluster with faults, in simulation, on every core: `ci/simulate --seconds 60`, or `--replay FILE`.

Prints JSON lines, one every ten seconds and one at the end: what was run, how often each fault was injected, how
requests and writes ended, which states and transitions were seen. A failure is shrunk and written to a file that
`--replay` runs again. `--mutants` runs the seeded bugs and prints the steps until each was caught, for several seeds
and on average. `--processes` runs real processes instead, under load, and kills them: see `--processes --help`. With
`--processes --rolling` they are restarted in order.
The exit status is 1 when a rule was broken, or when a seeded bug was not caught within 2,000 steps on average.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

import attrs

from ci.lib import processes
from property_tests.simulation.mutants import MUTANTS
from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.simulation.run import Report, run_script
from sie.testing.simulation.script import Script, from_json, to_json
from sie.testing.simulation.search import Tally, search
from sie.testing.simulation.shrinking import rule_of, shrink

SEED_SCRIPTS = 1_000_000
"""Script numbers of one seed."""
CHUNK = 5
"""Scripts of one job: short, so that there is news of each soon."""
PROGRESS_S = 10.0
SHRINK_S = 60.0
MUTANT_SEEDS = 3
MUTANT_STEPS = 2000
"""On average, until a seeded bug is caught."""
MUTANT_SCRIPTS = 120
"""Some 4,500 steps: then it is not caught."""
QUICK_S = 20.0
PROCESSES = "--processes"


def main(argv: Sequence[str]) -> int:
    if PROCESSES in argv:
        return processes.main([word for word in argv if word != PROCESSES])
    parser = argparse.ArgumentParser(
        prog="ci/simulate", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look, on each core")
    parser.add_argument("--seed", type=int, default=0, help="where to begin")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run this script, and print its event log")
    parser.add_argument("--mutants", action="store_true", help="run the seeded bugs")
    parser.add_argument(PROCESSES, action="store_true", help="real processes instead; it has options of its own")
    parser.add_argument("--seeds", type=int, default=MUTANT_SEEDS, help="how many, for each seeded bug")
    parser.add_argument("--quick", action="store_true", help=f"look for {QUICK_S:g} s, or run each seeded bug once")
    options = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)  # a simulated fault is logged as a real one, thousands of times
    if options.replay:
        return replay(options.replay)
    if options.mutants:
        return mutants(options.seed, 1 if options.quick else options.seeds)
    return look(options.seed, QUICK_S if options.quick else options.seconds)


def look(seed: int, seconds: float) -> int:
    hunt = Hunt(seed, time.monotonic() + seconds)
    with catalogue() as folders, pool() as workers:
        for total in hunt.run(workers, folders):
            tell(progress(total, hunt))
        tell(summary(hunt.total, hunt))
        if hunt.total.failure is not None:
            tell(written(hunt.total, Path.cwd(), folders))
    return 0 if hunt.total.failure is None else 1


@attrs.define
class Hunt:
    """One script number after another, until time is up, `steps` are done or a rule is broken."""

    seed: int
    ends_s: float
    steps: float = float("inf")
    began_s: float = attrs.field(factory=time.monotonic)
    total: Tally = attrs.field(factory=Tally)

    def run(self, workers: ProcessPoolExecutor, folders: CatalogueFolders) -> Iterator[Tally]:
        """Yields the sum so far, every now and then."""
        numbers = count(self.seed * SEED_SCRIPTS, CHUNK)
        jobs = {self._job(workers, folders, next(numbers)) for _ in range(2 * cores())}
        told_s = self.began_s
        while jobs:
            done, jobs = wait(jobs, timeout=1.0, return_when=FIRST_COMPLETED)
            for job in done:
                self.total.merge(job.result())
            if not self._is_over():
                jobs |= {self._job(workers, folders, next(numbers)) for _ in done}
            if time.monotonic() >= told_s + PROGRESS_S:
                told_s = time.monotonic()
                yield self.total

    def _is_over(self) -> bool:
        found = self.total.failure is not None
        return found or time.monotonic() >= self.ends_s or self.total.steps >= self.steps

    def _job(self, workers: ProcessPoolExecutor, folders: CatalogueFolders, first: int) -> "Future[Tally]":
        return workers.submit(search_until, self.ends_s, folders, first)


def search_until(ends_s: float, folders: CatalogueFolders, first: int) -> Tally:
    """`ends_s` is monotonic time, which all processes of a machine share."""
    return search(folders, first, CHUNK, is_over=lambda: time.monotonic() >= ends_s)


def mutants(first_seed: int, seeds: int) -> int:
    fine = True
    numbers = range(first_seed, first_seed + seeds)
    with catalogue() as folders, pool() as workers:
        found = workers.map(partial(steps_to_catch, folders), [(name, seed) for name in MUTANTS for seed in numbers])
        for name, mutant in MUTANTS.items():
            steps = [next(found) for _ in numbers]
            row = verdict(steps)
            fine &= row["caught"] is True
            tell({"mutant": name, "about": mutant.about, **row})
    return 0 if fine else 1


def steps_to_catch(folders: CatalogueFolders, job: tuple[str, int]) -> int | None:
    """None: it was not caught."""
    name, seed = job
    with MUTANTS[name].swapped():
        tally = search(folders, seed * SEED_SCRIPTS, MUTANT_SCRIPTS)
    return tally.steps if tally.failure is not None else None


def verdict(steps: Sequence[int | None]) -> Mapping[str, object]:
    """`steps` by seed; null where it was not caught."""
    caught = [taken for taken in steps if taken is not None]
    mean = round(sum(caught) / len(caught)) if caught else None
    return {
        "steps": steps,
        "mean": mean,
        "caught": len(caught) == len(steps) and mean is not None and mean <= MUTANT_STEPS,
    }


def replay(path: Path) -> int:
    with catalogue() as folders:
        report = run_script(from_json(path.read_text(encoding="utf-8")), folders)
    print(report.log, end="")
    tell({"violations": list(report.violations), "endings": report.endings})
    return 1 if report.violations else 0


def progress(total: Tally, hunt: Hunt) -> Mapping[str, object]:
    return {"after_s": round(time.monotonic() - hunt.began_s, 1), **figures(total)}


def figures(total: Tally) -> Mapping[str, object]:
    """Seconds of processor time: what else the machine does counts little then."""
    return {
        "scripts": total.scripts,
        "steps": total.steps,
        "requests": total.requests,
        "faults": sum(total.faults.values()),
        "states": len(total.states),
        "transitions": len(total.transitions),
        "lifecycles_per_s_per_core": round(total.requests / total.cpu_s, 1) if total.cpu_s else None,
    }


def summary(total: Tally, hunt: Hunt) -> Mapping[str, object]:
    starts = total.starts_ms or [0.0]
    return {
        "seconds": round(time.monotonic() - hunt.began_s, 1),
        "cores": cores(),
        **figures(total),
        "cluster_start_ms": {"best": round(min(starts), 1), "median": round(median(starts), 1)},
        "faults_by_kind": by_count(total.faults),
        "endings": by_count(total.endings),
        "counts": by_count(total.counts),
        "states_seen": by_count(total.states),
        "transitions_seen": by_count(total.transitions),
    }


def written(tally: Tally, folder: Path, folders: CatalogueFolders) -> Mapping[str, object]:
    """Shrink the script that broke a rule, and write it where `--replay` can read it."""
    assert tally.failure is not None
    rule, ends_s = rule_of(tally.violations[0]), time.monotonic() + SHRINK_S
    small = shrink(tally.failure, partial(breaks, folders, rule), is_over=lambda: time.monotonic() >= ends_s)
    path = folder / f"simulation-{small.seed}.json"
    path.write_text(to_json(small), encoding="utf-8")
    return {
        "broken": list(run_script(small, folders).violations),
        "steps": len(small.steps),
        "steps_before": len(tally.failure.steps),
        "replay": f"ci/simulate --replay {path}",
    }


def breaks(folders: CatalogueFolders, rule: str, script: Script) -> bool:
    report: Report = run_script(script, folders)
    return any(rule_of(violation) == rule for violation in report.violations)


def by_count(counts: Mapping[str, int]) -> Mapping[str, int]:
    return dict(sorted(counts.items(), key=lambda row: (-row[1], row[0])))


def tell(row: Mapping[str, object]) -> None:
    print(json.dumps(row), flush=True)


def cores() -> int:
    return len(os.sched_getaffinity(0))


def pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(cores(), initializer=logging.disable, initargs=(logging.CRITICAL,))


@contextmanager
def catalogue() -> Iterator[CatalogueFolders]:
    with tempfile.TemporaryDirectory() as folder:
        yield CatalogueFolders.write(Path(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
