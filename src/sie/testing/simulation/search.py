"""Looking for a script that breaks a rule: each is drawn from its own number; and what came of them."""

import time
from collections.abc import Callable, Mapping
from random import Random

import attrs
from hypothesis.control import BuildContext
from hypothesis.internal.conjecture.data import ConjectureData

from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.simulation.run import Report, run_script
from sie.testing.simulation.script import Script, scripts

MAX_PARTS = 45
MIN_PARTS = 20
SCRIPTS = scripts(MAX_PARTS, min_parts=MIN_PARTS)


@attrs.define
class Tally:
    """What a search has done. `failure` is the script that broke a rule; `cpu_s` is spent on drawing and running."""

    scripts: int = 0
    steps: int = 0
    requests: int = 0
    cpu_s: float = 0.0
    faults: dict[str, int] = attrs.field(factory=dict)
    endings: dict[str, int] = attrs.field(factory=dict)
    counts: dict[str, int] = attrs.field(factory=dict)
    states: dict[str, int] = attrs.field(factory=dict)
    transitions: dict[str, int] = attrs.field(factory=dict)
    starts_ms: list[float] = attrs.field(factory=list)
    failure: Script | None = None
    violations: tuple[str, ...] = ()

    def add(self, script: Script, report: Report) -> None:
        self.scripts += 1
        self.steps += report.steps
        self.requests += sum(report.endings.values())
        seen = report.seen
        self.starts_ms.append(seen.start_ms)
        self._count(seen.faults, report.endings, report.counts, seen.coverage.states, seen.coverage.transitions)
        if report.violations:
            self.failure, self.violations = script, tuple(report.violations)

    def merge(self, other: "Tally") -> None:
        self.scripts += other.scripts
        self.steps += other.steps
        self.requests += other.requests
        self.cpu_s += other.cpu_s
        self.starts_ms += other.starts_ms
        self._count(other.faults, other.endings, other.counts, other.states, other.transitions)
        if other.failure is not None:
            self.failure, self.violations = other.failure, other.violations

    def _count(self, *more: Mapping[str, int]) -> None:
        ours = (self.faults, self.endings, self.counts, self.states, self.transitions)
        for total, counts in zip(ours, more, strict=True):
            for key, count in counts.items():
                total[key] = total.get(key, 0) + count


def draw_script(number: int) -> Script:
    """The same for the same number. Each is drawn afresh: a run of Hypothesis would vary those before it."""
    data = ConjectureData(random=Random(number))
    with BuildContext(data, wrapped_test=draw_script):
        return data.draw(SCRIPTS)


def search(
    folders: CatalogueFolders, first: int, examples: int, *, is_over: Callable[[], bool] = lambda: False
) -> Tally:
    """Run the scripts of up to `examples` numbers from `first` on, until one breaks a rule or `is_over`."""
    tally, began = Tally(), time.process_time()
    for number in range(first, first + examples):
        if tally.failure is not None or is_over():
            break
        script = draw_script(number)
        tally.add(script, run_script(script, folders))
    tally.cpu_s = time.process_time() - began
    return tally
