"""The supervisor: the processes of a plan kept, watched and shown until a signal, or until they fail for good."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import NoReturn

import trio

from sie.cli.child import Child
from sie.cli.failure import Failure
from sie.cli.family import Family, living, make_family
from sie.cli.logs import Tail, log_of
from sie.cli.output import Output, ready_json, ready_lines
from sie.cli.plan import Plan
from sie.cli.screen import PlainScreen, Screen
from sie.cli.signals import obey_signals
from sie.cli.watch import watch_forever
from sie.runtime.service import running

FOLLOW_EVERY_S = 0.1


def run_supervisor(plan: Plan, children: Mapping[str, Child], output: Output, started_at_s: float) -> Failure | None:
    """`children` are the processes in their first life, by name. Returns when none of them is left."""
    with closing(open_screen(plan, output)) as screen:
        return trio.run(supervise, plan, children, output, screen, started_at_s)


async def supervise(
    plan: Plan, children: Mapping[str, Child], output: Output, screen: Screen, started_at_s: float
) -> Failure | None:
    stop = trio.Event()
    tails = [Tail(service.name, log_of(plan.logs, service.name)) for service in plan.services if output.verbose]
    family = make_family(plan.services, children, plan.logs, screen, stop)
    on_ready = partial(announce, plan, family, output, started_at_s)
    async with trio.open_nursery() as nursery:
        await nursery.start(obey_signals, stop, family.kill)
        if tails:
            nursery.start_soon(follow_forever, tails, output.write)
        async with living(family), running(partial(watch_forever, family, plan, on_ready)):
            await stop.wait()
            screen.close()
        nursery.cancel_scope.cancel()
    for tail in tails:
        tail.copy(output.write)
    return family.failure


def announce(plan: Plan, family: Family, output: Output, started_at_s: float) -> None:
    family.screen.close()
    seconds = time.monotonic() - started_at_s
    if output.as_json:
        output.write_result(ready_json(plan, seconds, family.pids))
    else:
        for line in ready_lines(plan, seconds):
            output.write(line)


def open_screen(plan: Plan, output: Output) -> Screen:
    drawable = sys.stdout.isatty() and os.environ.get("TERM") not in {None, "dumb"}
    if output.as_json or output.verbose or not drawable:
        return PlainScreen(output.write)
    from sie.cli.live import LiveScreen  # noqa: PLC0415 -- only a terminal pays for importing rich

    return LiveScreen([service.name for service in plan.services], output.write)


async def follow_forever(tails: Sequence[Tail], write: Callable[[str], None]) -> NoReturn:
    while True:
        for tail in tails:
            tail.copy(write)
        await trio.sleep(FOLLOW_EVERY_S)
