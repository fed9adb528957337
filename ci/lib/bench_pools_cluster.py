"""The API server's double as a process of its own, which makes storms as it is told (`ci/bench pools`).

Run as `python -m ci.lib.bench_pools_cluster`. It writes its URL, a line. For each line of its input, the number of a
storm, all of its changes are made in one step of its loop, without any request, and when that was done is written, on
the machine's monotonic clock. At the end of its input it ends.
"""

import sys
import time

import trio

from ci.lib.bench_pools_changes import Change, first_pools, storm
from sie.domain.ids import PoolName
from sie.domain.pool import Pool
from sie.gateway.core.pool_documents import with_spec, write_pool_text
from sie.kube.core.documents import CONFIG_MAPS as KIND
from sie.kube.core.names import POOL_KEY, config_map_name
from sie.runtime.world import real_machine
from sie.testing.kube.model import KubeModel
from sie.testing.kube.resources import CONFIG_MAPS, Document
from sie.testing.kube.served import new_double, open_kube_double

NAMESPACE = "default"


async def main() -> None:
    double, machine = new_double(), real_machine(trio.Event())
    for pool in first_pools():
        double.model.create(CONFIG_MAPS, NAMESPACE, document_of(pool))
    async with open_kube_double(double) as served:
        print(served.url, flush=True)
        while told := await machine.run_in_thread(sys.stdin.readline):
            prepared = [(change.name, document_after(change)) for change in storm(int(told))]
            for name, document in prepared:
                apply(double.model, name, document)
            print(f"{time.monotonic():.6f}", flush=True)


def document_after(change: Change) -> Document | None:
    return None if change.after is None else document_of(change.after)


def apply(model: KubeModel, pool: PoolName, document: Document | None) -> None:
    name = config_map_name(pool)
    if document is None:
        model.delete(CONFIG_MAPS, NAMESPACE, name)
    elif model.holds(CONFIG_MAPS, NAMESPACE, name):
        model.replace(CONFIG_MAPS, NAMESPACE, name, document)
    else:
        model.create(CONFIG_MAPS, NAMESPACE, document)


def document_of(pool: Pool) -> Document:
    """As a gateway would have written it, with these times."""
    item = KIND.write(with_spec(None, pool.spec, pool.renewed_s))
    return {**item, "data": {POOL_KEY: write_pool_text(pool).decode()}}


if __name__ == "__main__":
    trio.run(main)
