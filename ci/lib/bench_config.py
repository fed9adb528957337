"""Does the config service hold its figures (`ci/bench config`): writes, the export, and a kill -9 among 500 writers?

Over a real process on loopback with a store on the local disk, and a nats-server where writes are measured.
"""

from collections.abc import Iterator

from ci.lib.bench_config_export import export_figures
from ci.lib.bench_config_kill import kill_figures
from ci.lib.bench_config_write import write_figures
from ci.lib.bench_figure import Figure


def config(quick: bool) -> Iterator[Figure]:
    yield from write_figures(quick)
    yield from export_figures(quick)
    yield from kill_figures(quick)
