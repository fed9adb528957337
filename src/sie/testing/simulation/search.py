"""Looking for a script that breaks a rule: drawn by Hypothesis from a seed, and shrunk once one is found."""

from collections.abc import Callable, Mapping
from typing import NoReturn

import attrs
from hypothesis import HealthCheck, Phase, given, seed, settings

from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.simulation.run import Report, run_script
from sie.testing.simulation.script import Script, scripts

MAX_STEPS = 50
MIN_STEPS = 25


class Broken(AssertionError):
    """A script broke a rule."""


@attrs.define
class Tally:
    """What a search has done. `failure` is the last script that broke a rule, the smallest one after shrinking."""

    scripts: int = 0
    steps: int = 0
    requests: int = 0
    faults: dict[str, int] = attrs.field(factory=dict)
    endings: dict[str, int] = attrs.field(factory=dict)
    states: dict[str, int] = attrs.field(factory=dict)
    failure: Script | None = None
    violations: tuple[str, ...] = ()

    def add(self, script: Script, report: Report) -> None:
        self.scripts += 1
        self.steps += report.steps
        self.requests += sum(report.endings.values())
        for total, counts in (
            (self.faults, report.faults),
            (self.endings, report.endings),
            (self.states, report.counts),
        ):
            _add(total, counts)
        if report.violations:
            self.failure, self.violations = script, tuple(report.violations)

    def merge(self, other: "Tally") -> None:
        self.scripts += other.scripts
        self.steps += other.steps
        self.requests += other.requests
        for total, counts in ((self.faults, other.faults), (self.endings, other.endings), (self.states, other.states)):
            _add(total, counts)
        if other.failure is not None:
            self.failure, self.violations = other.failure, other.violations


def search(
    folders: CatalogueFolders, number: int, examples: int, *, shrink: bool, is_over: Callable[[], bool] = lambda: False
) -> Tally:
    """Run up to `examples` scripts of seed `number`, until one breaks a rule or `is_over`."""
    tally = Tally()
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)

    @seed(number)
    @settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(scripts(MAX_STEPS, min_steps=0 if shrink else MIN_STEPS))
    def run(script: Script) -> None:
        if is_over():
            return
        report = run_script(script, folders)
        tally.add(script, report)
        if report.violations:
            _fail(report.violations[0])

    try:
        run()
    except Broken:
        return tally
    return tally


def _fail(violation: str) -> NoReturn:
    raise Broken(violation)


def _add(total: dict[str, int], counts: Mapping[str, int]) -> None:
    for key, count in counts.items():
        total[key] = total.get(key, 0) + count
