"""Every check of the repository, in the order of their price: `ci/test`, or `ci/test unit lint` for a few of them.

Each stage runs in processes of its own, under a bound. The unit stage refuses to import jax; tests marked `engine` load
it in the engine stage; tests marked `system` start real processes. What follows `--` goes to pytest:
`ci/test unit -- -k epoch`.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

from ci.lib import tally
from ci.lib.environment import ROOT

BIN = Path(sys.executable).parent
SOURCES = ("src", "tests", "property_tests", "ci", "spec/golden")
# What ruff checks already; what asks for a list of every startable function (114), for `started()` where it is passed
# on (128), for an await in every async route (124), for checkpoints everywhere (9xx).
NO_SECOND_OPINION = "ASYNC100,ASYNC105,ASYNC109,ASYNC110,ASYNC114,ASYNC115,ASYNC116,ASYNC124,ASYNC128,ASYNC2,ASYNC9"
NO_TESTS = 5  # pytest's exit status when nothing was selected

Command = tuple[str, ...]


@attrs.frozen
class Stage:
    name: str
    about: str
    commands: tuple[Command, ...]
    bound_s: float = 300.0


@attrs.frozen
class Result:
    stage: Stage
    passed: bool
    took_s: float

    def __str__(self) -> str:
        return f"{'ok    ' if self.passed else 'FAILED'} {self.stage.name:<10} {self.took_s:7.1f} s  {self.stage.about}"


def sources() -> list[str]:
    """The folders that hold Python by now."""
    return [folder for folder in SOURCES if any((ROOT / folder).rglob("*.py"))]


def async_modules() -> list[str]:
    """The modules that can break a rule about async code; flake8-async reads half a second per file."""
    modules = sorted((ROOT / "src").rglob("*.py"))
    return [str(path.relative_to(ROOT)) for path in modules if "async " in path.read_text(encoding="utf-8")]


def python(*arguments: str) -> Command:
    return (sys.executable, "-m", *arguments)


def pytest(folders: Sequence[str], markers: str, *arguments: str) -> Command:
    return python("pytest", *folders, "-m", markers, "-p", "ci.lib.tally", *arguments)


def stages(extra: Sequence[str]) -> tuple[Stage, ...]:
    """All of them in order; `extra` goes to every pytest."""
    without_jax = ("-p", "ci.lib.no_jax", *extra)
    async_rules = ("--disable", NO_SECOND_OPINION)
    return (
        Stage(
            "lint",
            "ruff, and flake8-async as a second opinion",
            (
                python("ruff", "check", "."),
                python("ruff", "format", "--check", "."),
                (str(BIN / "flake8-async"), *async_rules, *async_modules()),
            ),
        ),
        Stage("types", "mypy --strict", (python("mypy", *sources()),), bound_s=600),
        Stage("contracts", "imports point down", ((str(BIN / "lint-imports"), "--no-logo"),)),
        Stage("unit", "no jax, no processes", (pytest(["tests"], "not system and not engine", *without_jax),)),
        Stage("engine", "loads jax", (pytest(["tests", "property_tests"], "engine", *extra),), bound_s=600),
        Stage("property", "hypothesis", (pytest(["property_tests"], "not engine", *without_jax),), bound_s=1500),
        Stage("system", "real processes on loopback", (pytest(["tests"], "system", *extra),), bound_s=600),
    )


def run_bounded(command: Command, bound_s: float) -> bool:
    """Whether the command ended well; it and what it started in its process group end with it."""
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        status = process.wait(bound_s)
    except subprocess.TimeoutExpired:
        print(f"stopped after its bound of {bound_s:.0f} s: {' '.join(command)}", flush=True)
        return False
    finally:
        end_group(process)
    if status == NO_TESTS:
        print("a stage without tests counts as failed", flush=True)
    return status == 0


def end_group(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def run_stage(stage: Stage) -> Result:
    print(f"\n--- {stage.name}: {stage.about}", flush=True)
    started = time.monotonic()
    results = [run_bounded(command, stage.bound_s) for command in stage.commands]
    result = Result(stage, all(results), time.monotonic() - started)
    print(result, flush=True)
    return result


def run_stages(chosen: Sequence[Stage], *, keep_going: bool) -> list[Result]:
    results: list[Result] = []
    for stage in chosen:
        results.append(run_stage(stage))
        if not (results[-1].passed or keep_going):
            break
    return results


def summarise(results: Sequence[Result], chosen: Sequence[Stage], counts: tally.Counts) -> None:
    """The stages' times, then one line in pytest's own form for all its runs together."""
    took_s = sum(result.took_s for result in results)
    print()
    if len(chosen) > 1:
        print(*results, *(f"not run {stage.name}" for stage in chosen[len(results) :]), sep="\n")
    outcome = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    print(f" {outcome or 'no tests ran'} in {took_s:.2f}s ".center(80, "="), flush=True)


def arguments_of(argv: Sequence[str]) -> tuple[argparse.Namespace, Sequence[str]]:
    cut = argv.index("--") if "--" in argv else len(argv)
    names = [stage.name for stage in stages(())]
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(prog="ci/test", description=__doc__, formatter_class=raw)
    parser.add_argument("stages", nargs="*", metavar="stage", help=f"{', '.join(names)}; all of them by default")
    parser.add_argument("--keep-going", action="store_true", help="run the later stages after a failed one")
    options = parser.parse_args(argv[:cut])
    if unknown := set(options.stages) - set(names):
        parser.error(f"no stage named {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return options, argv[cut + 1 :]


def main(argv: Sequence[str]) -> int:
    options, extra = arguments_of(argv)
    chosen = [stage for stage in stages(extra) if stage.name in options.stages or not options.stages]
    with tempfile.TemporaryDirectory() as folder:
        os.environ[tally.VARIABLE] = folder
        results = run_stages(chosen, keep_going=options.keep_going)
        summarise(results, chosen, tally.read(Path(folder)))
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
