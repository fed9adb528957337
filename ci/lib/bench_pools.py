"""Do pools cost a gateway as little as they should, at 1,000 of them over 2,000 workers (`ci/bench pools`)?

Their workers, a request that names one, what they hold of the cluster, and a storm of 10,000 changes in the store.
"""

from collections.abc import Iterator

from ci.lib.bench_figure import Figure
from ci.lib.bench_pools_assign import assign_figures
from ci.lib.bench_pools_capacity import capacity_figures
from ci.lib.bench_pools_request import request_figures
from ci.lib.bench_pools_storm import storm_figures


def pools(quick: bool) -> Iterator[Figure]:
    yield from assign_figures(quick)
    yield from request_figures(quick)
    yield from capacity_figures()
    yield from storm_figures(quick)
