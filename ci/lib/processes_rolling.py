"""Run three workers of two bundles under load, and restart them one by one: `ci/simulate --processes --rolling`.

Four models are asked for all the time, and each worker has memory for two: they take turns in it. In the middle each
worker is told to end, and its successor is started, before the next one is told: so for a moment the second bundle has
no worker, and clients wait for as long as the answer then says. With `--surge` there is always one.
Prints JSON lines: one every ten seconds, one for each restart, and a summary: how requests ended, what made clients ask
again, how long they waited, who answered, how often models were loaded. Clients ask again as the published SDK does,
and vectors are compared with those of the same texts and model before the load.
The exit status is 1 when a request ended in anything but one right answer or a refusal that the client may ask again,
a worker did not end in order, a successor answered nothing, models did not have to take turns, or work is left.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import attrs
import trio

from ci.lib.demo_model import fetch_checkpoint
from ci.lib.demo_system import NotReady
from ci.lib.processes_asking import corpus
from ci.lib.processes_clients import Load
from ci.lib.processes_cluster import LOOK_S, READY_S, Cluster, running
from ci.lib.processes_models import draw_mixed
from ci.lib.processes_rest import Rest, come_to_rest
from ci.lib.processes_restarts import Restart, Turns, answered_nothing, read_turns
from ci.lib.processes_rolling_cluster import all_right_vectors, plan_rolling, write_models
from ci.lib.processes_tally import Tally
from sie.cli.logs import log_of

REQUESTS = 5_000
QUICK_REQUESTS = 300
CLIENTS = 48
QUICK_CLIENTS = 24
QUICK_REST_S = 3.0
"""Of a client after each request: a few requests are spread over all restarts."""
CORPUS = 60
"""Texts, each of which has four vectors."""
BEGINS_AFTER = 0.25
"""Of the requests."""
PROGRESS_S = 10.0


@attrs.frozen
class Run:
    requests: int
    seed: int
    quick: bool
    surge: bool


@attrs.frozen
class Outcome:
    restarts: Sequence[Restart]
    turns: Mapping[str, Turns]
    rest: Rest
    seconds: float


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="ci/simulate --processes --rolling", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--requests", type=int, help=f"{REQUESTS}")
    parser.add_argument("--seed", type=int, default=0, help="of the requests")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_REQUESTS} requests")
    parser.add_argument(
        "--surge", action="store_true", help="start each successor before its predecessor is told to end"
    )
    parser.add_argument("--keep", action="store_true", help="keep logs and streams, however it ends")
    options = parser.parse_args(argv)
    requests = options.requests or (QUICK_REQUESTS if options.quick else REQUESTS)
    fetch_checkpoint(lambda _: None)
    folder = Path(tempfile.mkdtemp(prefix="sie-rolling-"))
    holds = trio.run(run_in, folder, Run(requests, options.seed, options.quick, options.surge))
    if holds and not options.keep:
        shutil.rmtree(folder)
    else:
        tell({"kept": str(folder)})
    return 0 if holds else 1


async def run_in(folder: Path, run: Run) -> bool:
    texts, tally, restarts = corpus(run.seed)[:CORPUS], Tally(), list[Restart]()
    async with running(plan_rolling(folder, os.environ)) as cluster:
        await write_models(cluster)
        right = await all_right_vectors(cluster, texts)
        tell({"ready": True, "texts": len(texts), "requests": run.requests, "seed": run.seed})
        clients, pause_s = (QUICK_CLIENTS, QUICK_REST_S) if run.quick else (CLIENTS, 0.0)
        draw = partial(draw_mixed, run.seed, texts=len(texts))
        load = Load(cluster.gateway_port, run.seed, texts, right, draw, tally, clients, pause_s, cluster.gateway_life)
        before, began_s = turns_of(cluster), trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(progress_forever, tally, began_s)
            async with trio.open_nursery() as both:
                both.start_soon(restart_all, cluster, run, tally, restarts)
                await load.run(run.requests)
                seconds = trio.current_time() - began_s
            nursery.cancel_scope.cancel()
        rest = await come_to_rest(cluster)
        turns = {worker: after - before[worker] for worker, after in turns_of(cluster).items()}
        outcome = Outcome(restarts, turns, rest, seconds)
        short = shortcomings(run, tally, cluster, outcome)
    tell({**summary(run, tally, cluster, outcome), "shortcomings": short, "holds": not short})
    return not short


async def restart_all(cluster: Cluster, run: Run, tally: Tally, restarts: list[Restart]) -> None:
    """Raises NotReady."""
    while len(tally.verdicts) < BEGINS_AFTER * run.requests:  # noqa: ASYNC110 - what it asks has no event for us
        await trio.sleep(LOOK_S)
    for worker in cluster.workers:
        restarts.append(await restart(cluster, worker, tally, surge=run.surge))
        tell({"restarted": worker, **restarts[-1].as_json()})


async def restart(cluster: Cluster, worker: str, tally: Tally, *, surge: bool) -> Restart:
    """Raises NotReady."""
    began_s, done, old = trio.current_time(), len(tally.verdicts), cluster.running[worker]
    if surge:
        starting_s = await start(cluster, worker)
        code = await cluster.stop(worker, old)
    else:
        code = await cluster.stop(worker, old)
        starting_s = await start(cluster, worker)
    stopping_s = trio.current_time() - began_s - starting_s
    return Restart(cluster.life(worker), code, stopping_s, starting_s, len(tally.verdicts) - done)


async def start(cluster: Cluster, worker: str) -> float:
    """Seconds until it takes work. Raises NotReady."""
    began_s = trio.current_time()
    cluster.start(worker)
    with trio.move_on_after(READY_S):
        while cluster.life(worker) not in await cluster.healthy():  # noqa: ASYNC110 - processes, as above
            await trio.sleep(LOOK_S)
        return trio.current_time() - began_s
    raise NotReady(f"the successor of {worker} was not ready within {READY_S:g} s")


def turns_of(cluster: Cluster) -> Mapping[str, Turns]:
    logs = {worker: log_of(cluster.plan.logs, worker) for worker in cluster.workers}
    return {worker: read_turns(log.read_text(encoding="utf-8").splitlines()) for worker, log in logs.items()}


def shortcomings(run: Run, tally: Tally, cluster: Cluster, outcome: Outcome) -> Sequence[str]:
    """In words; none where all is well."""
    successors = [restart.successor for restart in outcome.restarts]
    found = {
        "requests": not tally.holds(run.requests, may_refuse=True),
        "connections were lost": bool(tally.dropped or tally.said["lost"]),
        "a worker did not end in order": any(restart.code != 0 for restart in outcome.restarts),
        "something ended by itself": bool(cluster.ended),
        "models did not take turns": not all(turns.unloads for turns in outcome.turns.values()),
        "a successor answered nothing": bool(answered_nothing(tally.served, successors)),
        "work is left": not outcome.rest.holds,
    }
    return [words for words, is_so in found.items() if is_so]


async def progress_forever(tally: Tally, began_s: float) -> NoReturn:
    while True:
        await trio.sleep(PROGRESS_S)
        seconds = trio.current_time() - began_s
        tell({"after_s": round(seconds, 1), **tally.figures(seconds)})


def summary(run: Run, tally: Tally, cluster: Cluster, outcome: Outcome) -> Mapping[str, object]:
    loads = sum(turns.loads for turns in outcome.turns.values())
    return {
        "requests": run.requests,
        "seed": run.seed,
        "seconds": round(outcome.seconds, 1),
        **tally.summary(run.requests, outcome.seconds),
        "restarts": [restart.as_json() for restart in outcome.restarts],
        "model_loads": loads,
        "model_turns": {worker: turns.as_json() for worker, turns in outcome.turns.items()},
        "answers_by_worker": dict(sorted(tally.served.items())),
        "ended_by_themselves": dict(cluster.ended),
        "rest": outcome.rest.as_json(),
    }


def tell(row: Mapping[str, object]) -> None:
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
