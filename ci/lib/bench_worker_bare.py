"""A loop that pulls and acks, and does nothing else: what our worker is measured against (`ci/bench worker`).

Run as `python -m ci.lib.bench_worker_bare NATS_URL`. It answers each line of its input with the seconds of processor
time that it has taken, and ends with its input.
"""

import sys
from functools import partial
from typing import NoReturn

import trio

from ci.lib.bench_worker_facts import BARE_LANE, IN_FLIGHT, consumer, stream
from ci.lib.bench_worker_parent import told_until_the_end
from sie.bus.api import Bus
from sie.bus.jetstream import ack, ensure_consumer, ensure_stream, open_puller
from sie.bus.nats import open_bus
from sie.runtime.service import run_service, running
from sie.runtime.world import real_machine


async def pull_forever(bus: Bus) -> NoReturn:
    await ensure_stream(bus, stream(BARE_LANE))
    await ensure_consumer(bus, consumer(BARE_LANE))
    names = {"stream": stream(BARE_LANE).name, "consumer": consumer(BARE_LANE).name}
    async with open_puller(bus, **names, capacity=IN_FLIGHT) as puller:
        while True:
            ack(bus, await puller.receive())


async def serve(url: str, stop: trio.Event) -> None:
    real_machine(stop)  # the same settings of the interpreter
    async with open_bus(url, inbox="_INBOX.bare", name="bare") as bus:
        await bus.wait_session()
        async with running(partial(pull_forever, bus)):
            await told_until_the_end()


if __name__ == "__main__":
    run_service(partial(serve, sys.argv[1]))
