"""Seeded bugs: each swaps a named part of the services for a wrong one, for as long as a run.

The only place where anything is swapped. Each breaks a rule that the simulation must notice.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import attrs

from property_tests.simulation import wrong_gateway, wrong_worker
from sie.bus.outbox import Outbox
from sie.bus.pulls import PullLedger
from sie.gateway.core import fleet, routing
from sie.gateway.core.collect import Collector
from sie.gateway.core.fleet import Fleet
from sie.gateway.dispatch.inbox import Inbox
from sie.gateway.dispatch.pending import Pending, Waiting
from sie.gateway.dispatch.publisher import Publisher
from sie.gateway.http import encode
from sie.gateway.sync import bootstrap, following
from sie.worker.consume import dispatcher, intake
from sie.worker.consume.answers import Answers
from sie.worker.consume.dispatcher import Dispatcher
from sie.worker.consume.intake import Intake
from sie.worker.consume.lane import LaneWork
from sie.worker.core import flights
from sie.worker.core.flights import Flights
from sie.worker.core.held_work import HeldWork
from sie.worker.core.models import ModelStates
from sie.worker.core.state import WorkerState
from sie.worker.heartbeat import Heart


@attrs.frozen
class Swap:
    """`owner.name` is `wrong` for as long as the block."""

    owner: object
    name: str
    wrong: object

    @contextmanager
    def swapped(self) -> Iterator[None]:
        right = vars(self.owner)[self.name]
        setattr(self.owner, self.name, self.wrong)
        try:
            yield
        finally:
            setattr(self.owner, self.name, right)


@attrs.frozen
class Mutant:
    about: str
    swaps: tuple[Swap, ...]

    @contextmanager
    def swapped(self) -> Iterator[None]:
        with ExitStack() as stack:
            for swap in self.swaps:
                stack.enter_context(swap.swapped())
            yield


def mutant(about: str, owner: object, name: str, wrong: object) -> Mutant:
    return Mutant(about, (Swap(owner, name, wrong),))


_MANY = (Swap(dispatcher, "MAX_BATCHES", 9), Swap(flights, "MAX_BATCHES", 9))

GATEWAY: Mapping[str, Mutant] = {
    "collector kept": mutant("a collector outlives its request", Pending, "open", wrong_gateway.never_removed),
    "by arrival": mutant("results are kept by arrival, not by index", Collector, "receive", wrong_gateway.by_arrival),
    "any request": mutant("a result is taken by any request", Inbox, "receive", wrong_gateway.to_anybody),
    "correlation kept": mutant("a reply subject stays", Publisher, "listening", wrong_gateway.keeps_listening),
    "gives up": mutant("the bootstrap is not tried again", following, "bootstrap_until_done", wrong_gateway.gives_up),
    "a model less": mutant("the registry lacks a model", bootstrap, "assemble", wrong_gateway.forgets_one),
    "no timeout": mutant("a request waits for ever", Waiting, "wait", wrong_gateway.for_ever),
    "never stale": mutant("a worker not heard of is used", Fleet, "heard_of", wrong_gateway.never_stale),
    "soon stale": mutant("a worker heard of is not used", fleet, "HEARTBEAT_STALE_S", 1.0),
    "any worker": mutant("a worker's hash is not looked at", routing, "serves", wrong_gateway.any_worker),
    "no bound": mutant("the outbox takes whatever comes", Outbox, "publish", wrong_gateway.takes_anything),
    "no Retry-After": mutant("a refusal does not say when", encode, "encode", wrong_gateway.does_not_say_when),
}
WORKER: Mapping[str, Mutant] = {
    "ack first": mutant("an ack goes before its result", Dispatcher, "_settle", wrong_worker.ack_first),
    "no ack": mutant("finished work is not acknowledged", Dispatcher, "_settle", wrong_worker.never_acks),
    "discards": mutant("what is given back is discarded", Answers, "give_back", wrong_worker.discards),
    "ensured once": mutant("the consumer is made but once", Intake, "_ensure", wrong_worker.ensured_once),
    "ready early": mutant("ready without a consumer", WorkerState, "is_ready", wrong_worker.BEFORE_ITS_CONSUMER),
    "any hash": mutant("items of another configuration are run", intake, "judge_delivery", wrong_worker.any_hash),
    "dead batch": mutant("the batch of a dead child is lost", Flights, "die", wrong_worker.forgets_the_dead),
    "many batches": Mutant("a child has more batches than it may", _MANY),
    "mixed items": mutant("results go to wrong items", dispatcher, "outcomes_of", wrong_worker.reversed_outcomes),
    "all expired": mutant("work in time is dropped as late", dispatcher, "is_expired", wrong_worker.always_expired),
    "load again": mutant("a final failure is tried again", ModelStates, "fail", wrong_worker.always_tried_again),
    "rests for good": mutant("a passing failure is final", ModelStates, "fail", wrong_worker.rests_for_good),
    "held for ever": mutant("finished work stays on the books", HeldWork, "release", wrong_worker.never_released),
    "given back": mutant("held work is given back", Intake, "_hold", wrong_worker.holds_and_gives_back),
    "pulls more": mutant("a pull asks for too much", PullLedger, "room", wrong_worker.asks_for_more),
    "never full": mutant("a worker holds without bound", HeldWork, "is_full", wrong_worker.NEVER_FULL),
    "dead pull": mutant("a pull that was lost is waited for", PullLedger, "expire", wrong_worker.never_expires),
    "silent end": mutant("what is held at the stop is dropped", LaneWork, "_give_back", wrong_worker.keeps_silent),
    "no end": mutant("a worker goes on after its stop", LaneWork, "run_until", wrong_worker.goes_on),
    "beats on": mutant("the heart beats after the end", Heart, "beat_forever", wrong_worker.beats_on),
}
MUTANTS: Mapping[str, Mutant] = {**GATEWAY, **WORKER}
