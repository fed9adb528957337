"""Seeded bugs: each swaps a named part of the services for a wrong one, for as long as a run.

The only place where anything is swapped. Each breaks a rule that the simulation must notice.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import attrs

from property_tests.simulation import (
    wrong_config,
    wrong_dispatch,
    wrong_following,
    wrong_gateway,
    wrong_pools,
    wrong_worker,
)
from sie.bus.outbox import Outbox
from sie.bus.pulls import PullLedger
from sie.config.core.idempotency import Idempotency
from sie.config.store import ConfigStore
from sie.config.writer import Writer
from sie.domain.convergence import Trust
from sie.domain.pool import Pool
from sie.gateway.core import admission, fleet, pool_view, routing
from sie.gateway.core.chunks import RequestChunks
from sie.gateway.core.collect import Collector
from sie.gateway.core.demand import Demand
from sie.gateway.core.fleet import Fleet
from sie.gateway.core.pool_ring import Ring
from sie.gateway.core.pool_view import PoolView
from sie.gateway.dispatch import direct, handoff
from sie.gateway.dispatch.dispatcher import Dispatcher as Dispatch
from sie.gateway.dispatch.inbox import Inbox
from sie.gateway.dispatch.payloads import Payloads
from sie.gateway.dispatch.pending import Pending
from sie.gateway.http import inference
from sie.gateway.pools import kubernetes, telling, upkeep
from sie.gateway.pools.kubernetes import KubernetesPools
from sie.gateway.pools.telling import Telling
from sie.gateway.sync import bootstrap, deltas, following, poller
from sie.gateway.sync.deltas import Deltas
from sie.kube.core.mirror import Mirror
from sie.worker.consume import dispatcher, intake
from sie.worker.consume.aftermath import Aftermath
from sie.worker.consume.answers import Answers
from sie.worker.consume.cancels import Cancels
from sie.worker.consume.dispatcher import Dispatcher
from sie.worker.consume.intake import Intake
from sie.worker.consume.lane import LaneWork
from sie.worker.core import flights
from sie.worker.core.cancels import Tombstones
from sie.worker.core.flights import Flights
from sie.worker.core.gate import Gate
from sie.worker.core.held_work import HeldWork
from sie.worker.core.memory import Memory
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


_ANY_HASH = (
    Swap(intake, "judge_delivery", wrong_worker.any_hash),
    Swap(Dispatcher, "_give_back_foreign", wrong_worker.keeps),
)
_MANY = (Swap(dispatcher, "MAX_BATCHES", 9), Swap(flights, "MAX_BATCHES", 9))

GATEWAY: Mapping[str, Mutant] = {
    "collector kept": mutant("a collector outlives its request", Pending, "open", wrong_gateway.never_removed),
    "by arrival": mutant("results are kept by arrival, not by index", Collector, "receive", wrong_gateway.by_arrival),
    "any request": mutant("a result is taken by any request", Inbox, "receive", wrong_gateway.to_anybody),
    "correlation kept": mutant("a reply subject stays", handoff, "listening", wrong_gateway.keeps_listening),
    "gives up": mutant("the bootstrap is not tried again", following, "bootstrap_until_done", wrong_gateway.gives_up),
    "a model less": mutant("the registry lacks a model", bootstrap, "assemble", wrong_gateway.forgets_one),
    "no timeout": mutant("a request waits for ever", Dispatch, "deadline_s", wrong_gateway.for_ever),
    "never stale": mutant("a worker not heard of is used", Fleet, "heard_of", wrong_gateway.never_stale),
    "soon stale": mutant("a worker heard of is not used", fleet, "HEARTBEAT_STALE_S", 1.0),
    "any worker": mutant("a worker's hash is not looked at", routing, "Wanted", wrong_gateway.any_configuration),
    "no bound": mutant("the outbox takes whatever comes", Outbox, "publish", wrong_gateway.takes_anything),
    "no Retry-After": mutant("a refusal does not say when", inference, "infer", wrong_gateway.does_not_say_when),
}
WORKER: Mapping[str, Mutant] = {
    "ack first": mutant("an ack goes before its result", Dispatcher, "_settle", wrong_worker.ack_first),
    "no ack": mutant("finished work is not acknowledged", Dispatcher, "_settle", wrong_worker.never_acks),
    "discards": mutant("what is given back is discarded", Answers, "give_back", wrong_worker.discards),
    "ensured once": mutant("the consumer is made but once", Intake, "_ensure", wrong_worker.ensured_once),
    "ready early": mutant("ready without a consumer", WorkerState, "is_ready", wrong_worker.BEFORE_ITS_CONSUMER),
    "any hash": Mutant("items of another configuration are run", _ANY_HASH),
    "dead batch": mutant("the batch of a dead child is lost", Flights, "die", wrong_worker.forgets_the_dead),
    "many batches": Mutant("a child has more batches than it may", _MANY),
    "blames all": mutant("the innocent of a batch are given up", Aftermath, "_blame", wrong_worker.blames_all),
    "no budget": mutant("more is loaded than fits", Memory, "budget_bytes", wrong_worker.no_budget),
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
    "unheard cancel": mutant("cancels do nothing", Cancels, "on_abandoned", wrong_worker.hears_no_cancel),
    "beats on": mutant("the heart beats after the end", Heart, "beat_forever", wrong_worker.beats_on),
}
_REDO = (
    Swap(ConfigStore, "_load_once", wrong_config.skips_redo),
    Swap(ConfigStore, "_is_behind", wrong_config.is_never_behind_at_load),
)
CONFIG: Mapping[str, Mutant] = {
    "installs first": mutant("what is not stored is served", Writer, "_commit", wrong_config.installs_first),
    "by halves": mutant("models and epoch change apart", Writer, "_commit", wrong_config.installs_by_halves),
    "tells first": mutant("what is not stored is told", Writer, "_commit", wrong_config.tells_first),
    "acks anyway": mutant("what is not stored is acknowledged", Writer, "_persist", wrong_config.acknowledges_anyway),
    "bumps first": mutant("the epoch is stored before its write", ConfigStore, "_swap_head", wrong_config.bumps_first),
    "no fence": mutant("another's write is written over", ConfigStore, "_swap_head", wrong_config.writes_over),
    "no redo": Mutant("what was committed is not finished at the start", _REDO),
    "guesses": mutant("an unknown outcome is told as none", ConfigStore, "_find_out", wrong_config.guesses_failure),
    "no seal": mutant("a swap that was seen is taken as safe", ConfigStore, "_seal", wrong_config.does_not_seal),
    "key forgotten": mutant("a key's write is done again", Idempotency, "end", wrong_config.forgets_the_answer),
}
_NEVER_FIRST = (
    Swap(following, "bootstrap_until_done", wrong_gateway.gives_up),
    Swap(following, "poll_forever", wrong_following.waits_for_the_first),
)
FOLLOWING: Mapping[str, Mutant] = {
    "forces first": mutant("the epoch steps back alone", poller, "poll_once", wrong_following.forces_first),
    "poll stops": mutant("a failed poll is the last", poller, "poll_once", wrong_following.stops_at_an_error),
    "poll drops": mutant("a failed poll empties all", poller, "poll_once", wrong_following.drops_all_at_an_error),
    "epoch alone": mutant("a poll ignores the hashes", poller, "decide_poll", wrong_following.by_epoch_alone),
    "never back": mutant("a poll never steps back", poller, "decide_poll", wrong_following.by_higher_epoch_alone),
    "first or none": Mutant("who has read nothing does not ask again", _NEVER_FIRST),
    "merges": mutant("what was removed stays", bootstrap, "assemble", wrong_following.merges),
    "all well": mutant("an export read in part counts as whole", bootstrap, "assemble", wrong_following.all_well),
    "trusts all": mutant("a stranger's delta counts", Trust, "trusts", wrong_following.trusts_all),
    "old standing": mutant("a delta meets what was held", Deltas, "_judge", wrong_following.on_what_was_held),
    "refused epoch": mutant("a refused delta counts", Deltas, "_judge", wrong_following.epoch_of_a_refused_one),
    "own epoch": mutant("an old delta lowers the epoch", deltas, "judge_delta", wrong_following.its_own_epoch),
    "deaf": mutant("no delta is heard", Deltas, "receive", wrong_following.hears_nothing),
}
_BY_ARRIVAL = (
    Swap(Ring, "insert", wrong_pools.by_arrival),
    Swap(Ring, "remove", wrong_pools.leaves_by_arrival),
    Swap(Ring, "take", wrong_pools.takes_the_first),
)
POOLS: Mapping[str, Mutant] = {
    "any version": mutant(
        "a renewed pool is ended", KubernetesPools, "_remove_version", wrong_pools.removes_any_version
    ),
    "pool over": mutant("a change of a pool undoes another's", kubernetes, "compare_and_swap", wrong_pools.writes_over),
    "kept by listing": mutant("a listing leaves what went", Mirror, "relisted", wrong_pools.keeps_what_went),
    "no skew": mutant("a pool ends by whoever is ahead", pool_view, "SKEW_S", 0.0),
    "watches once": mutant("a watch that ended is the last", kubernetes, "watch_forever", wrong_pools.watches_once),
    "first come": Mutant("a pool has who came first", _BY_ARRIVAL),
    "one more": mutant("a pool holds more than its cap", Ring, "take", wrong_pools.takes_one_more),
    "server away": mutant("an error of the server empties all", Telling, "ended", wrong_pools.forgets_at_an_error),
    "deleted anyway": mutant("what stays is told as deleted", KubernetesPools, "delete", wrong_pools.done_anyway),
    "held anyway": mutant("what is not stored is told as held", KubernetesPools, "put", wrong_pools.kept_anyway),
    "revives": mutant("a renewal makes a deleted pool again", KubernetesPools, "renew", wrong_pools.revives),
    "lease left": mutant("a lease outlives its pool", kubernetes, "drop_lease", wrong_pools.leaves_the_lease),
    "no end of pools": mutant("pools never end", PoolView, "over", wrong_pools.never_over),
    "nonsense": mutant("what is no pool ends the gateway", telling, "read_stored", wrong_pools.crashes_on_nonsense),
    "time falls": mutant("a renewal shortens a lease", Pool, "renewed", wrong_pools.takes_the_time_given),
    "unheard": mutant("an own change is not told", Telling, "written", wrong_pools.waits_for_the_watch),
}
DISPATCH: Mapping[str, Mutant] = {
    "reserved": mutant("a reservation is kept", RequestChunks, "release", wrong_dispatch.keeps_the_reservation),
    "payload left": mutant("an input stays aside", Payloads, "discard_soon", wrong_dispatch.leaves_the_payload),
    "lease kept": mutant("a handoff lease is kept", Demand, "end_handover", wrong_dispatch.keeps_the_lease),
    "never met": mutant("demand outlives its work", Demand, "met", wrong_dispatch.never_met),
    "met early": mutant("workers that come end demand", upkeep, "capacity_of", wrong_dispatch.met_by_registration),
    "no demand": mutant("nobody says what is wanted", Demand, "record_cold", wrong_dispatch.leaves_no_trace),
    "counts stale": mutant("a withdrawn result counts", Collector, "resent", wrong_dispatch.counts_stale_results),
    "no tombstones": mutant("tombstones cover nothing", Tombstones, "covers", wrong_dispatch.covers_nothing),
    "any pool": mutant("work of any pool is run", Gate, "judge", wrong_dispatch.admits_all),
    "no fallback": mutant("what nobody takes waits", direct, "unseen_items", wrong_dispatch.never_falls_back),
    "lane held": mutant("a lane's load stays", admission._Holding, "__exit__", wrong_dispatch.never_leaves_its_lane),
}
MUTANTS: Mapping[str, Mutant] = {**GATEWAY, **WORKER, **CONFIG, **FOLLOWING, **POOLS, **DISPATCH}
