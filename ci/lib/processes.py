"""Run real processes under load while they are killed: `ci/simulate --processes --requests 50000`.

Prints JSON lines for each storage of work: one every ten seconds, and a summary: how requests ended, what made clients
ask again, how long they waited, what was killed. Clients ask again as the published SDK does, and vectors are compared
with those of the same texts before anything was killed.
The exit status is 1 when a request did not end in exactly one right answer; with work kept in memory, one that the
client may ask again is good enough. It is 1 as well when nothing of a kind was killed, or work is left.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NoReturn, get_args

import attrs
import trio

from ci.lib import processes_rolling
from ci.lib.demo_model import cache_folder, fetch_checkpoint
from ci.lib.processes_asking import corpus, draw_ask
from ci.lib.processes_clients import Load, right_vectors
from ci.lib.processes_cluster import WORKERS, Cluster, Storage, running_cluster
from ci.lib.processes_faults import QUICK_ROUND, Fault, draw_faults
from ci.lib.processes_rest import Rest, come_to_rest
from ci.lib.processes_tally import Tally
from sie.cli.settings import DEFAULT_MODEL

REQUESTS = 50_000
ROLLING = "--rolling"
QUICK_REQUESTS = 250
"""For each storage."""
CLIENTS = 128
"""Many of them wait to ask again, most of the time."""
QUICK_CLIENTS = 48
PROGRESS_S = 10.0
QUICK_REST_S = 6.0
"""Of a client after each request: a few requests are spread over many kills."""
STRUCK_S = 30.0
"""Until what was killed runs again, even when all requests have ended meanwhile."""

Tell = Callable[[Mapping[str, object]], None]


@attrs.frozen
class Run:
    storage: Storage
    requests: int
    seed: int
    quick: bool


def main(argv: Sequence[str]) -> int:
    if ROLLING in argv:
        return processes_rolling.main([word for word in argv if word != ROLLING])
    parser = argparse.ArgumentParser(
        prog="ci/simulate --processes", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--requests", type=int, help=f"for each storage, {REQUESTS}")
    parser.add_argument("--storage", choices=("file", "memory", "both"), default="both", help="where work is kept")
    parser.add_argument(ROLLING, action="store_true", help="a rolling restart instead; it has options of its own")
    parser.add_argument("--seed", type=int, default=0, help="of the requests and of the order of kills")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_REQUESTS} requests, and one kill of each kind")
    parser.add_argument("--keep", action="store_true", help="keep logs and streams, however it ends")
    options = parser.parse_args(argv)
    requests = options.requests or (QUICK_REQUESTS if options.quick else REQUESTS)
    storages = [kind for kind in get_args(Storage) if options.storage in (kind, "both")]
    fetch_checkpoint(lambda _: None)
    held = [one_run(Run(storage, requests, options.seed, options.quick), keep=options.keep) for storage in storages]
    return 0 if all(held) else 1


def one_run(run: Run, *, keep: bool) -> bool:
    """Logs and streams are kept where something is short, too."""
    folder = Path(tempfile.mkdtemp(prefix="sie-processes-"))
    tell = partial(told, run.storage)
    holds = trio.run(run_in, folder, run, tell)
    if holds and not keep:
        shutil.rmtree(folder)
    else:
        tell({"kept": str(folder)})
    return holds


async def run_in(folder: Path, run: Run, tell: Tell) -> bool:
    texts, tally = corpus(run.seed), Tally()
    async with running_cluster(folder, cache_folder(), run.storage) as cluster:
        right = {DEFAULT_MODEL: await right_vectors(cluster.gateway_port, texts)}
        draw = partial(draw_ask, run.seed, texts=len(texts))
        tell({"ready": True, "texts": len(texts), "requests": run.requests, "seed": run.seed})
        clients, pause_s = (QUICK_CLIENTS, QUICK_REST_S) if run.quick else (CLIENTS, 0.0)
        load = Load(cluster.gateway_port, run.seed, texts, right, draw, tally, clients, pause_s, cluster.gateway_life)
        killed, began_s = Counter[str](), now_s()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill_on_and_on, cluster, run, killed)
            nursery.start_soon(progress_forever, tally, killed, began_s, tell)
            await load.run(run.requests)
            nursery.cancel_scope.cancel()
        seconds = now_s() - began_s
        rest = await come_to_rest(cluster)
    all_killed = all(killed[kind] for kind in QUICK_ROUND)
    holds = all_killed and rest.holds and tally.holds(run.requests, may_refuse=run.storage == "memory")
    tell({**summary(run, tally, cluster, killed, rest, seconds), "holds": holds})
    return holds


async def kill_on_and_on(cluster: Cluster, run: Run, killed: Counter[str]) -> None:
    """What is away when the run ends is started all the same. A quick run has one round."""
    async with trio.open_nursery() as nursery:
        for fault in islice(draw_faults(run.seed, quick=run.quick), len(QUICK_ROUND) if run.quick else None):
            await trio.sleep(fault.pause_s)
            nursery.start_soon(strike, cluster, fault, killed)


async def strike(cluster: Cluster, fault: Fault, killed: Counter[str]) -> None:
    """One that is away already is not struck again."""
    worker = struck_worker(cluster, fault)
    name = {"worker": worker, "backend": worker, "broker": "nats"}.get(fault.kind, fault.kind)
    if name not in cluster.running:
        return
    if fault.kind == "backend":
        killed["backend"] += bool(cluster.kill_backend(name))
        return
    killed[fault.kind] += 1
    with trio.CancelScope(shield=True, deadline=now_s() + STRUCK_S):
        await cluster.kill(name)
        await trio.sleep(fault.away_s)
        cluster.start(name)


def struck_worker(cluster: Cluster, fault: Fault) -> str:
    """The one that is picked, or the next that has a backend child."""
    first = fault.pick % len(WORKERS)
    order = [*WORKERS[first:], *WORKERS[:first]]
    return next((worker for worker in order if cluster.backends(worker)), order[0])


async def progress_forever(tally: Tally, killed: Counter[str], began_s: float, tell: Tell) -> NoReturn:
    while True:
        await trio.sleep(PROGRESS_S)
        seconds = now_s() - began_s
        tell({"after_s": round(seconds, 1), **tally.figures(seconds), "killed": dict(killed)})


def summary(
    run: Run, tally: Tally, cluster: Cluster, killed: Counter[str], rest: Rest, seconds: float
) -> Mapping[str, object]:
    return {
        "requests": run.requests,
        "seed": run.seed,
        "seconds": round(seconds, 1),
        **tally.summary(run.requests, seconds),
        "killed": dict(killed),
        "ended_by_themselves": dict(cluster.ended),
        "rest": rest.as_json(),
    }


def told(storage: Storage, row: Mapping[str, object]) -> None:
    print(json.dumps({"storage": storage, **row}), flush=True)


def now_s() -> float:
    return trio.current_time()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
