"""Does a gateway hold its figures for following the authority and its workers (`ci/bench convergence`)?

The first catching up with 10,000 models, the loop meanwhile, deltas, and the heartbeats of 1,000 workers.
"""

from collections.abc import Iterator

from ci.lib.bench_convergence_beats import beat_figures
from ci.lib.bench_convergence_bootstrap import bootstrap_figures
from ci.lib.bench_convergence_delta import delta_figures
from ci.lib.bench_figure import Figure


def convergence(quick: bool) -> Iterator[Figure]:
    yield from delta_figures(quick)
    yield from bootstrap_figures(quick)
    yield from beat_figures(quick)
