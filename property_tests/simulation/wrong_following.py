"""How a gateway must not follow the authority: each function stands in for a right one while a mutant is on."""

from collections.abc import Iterable
from random import Random
from typing import NoReturn

import attrs
import trio

from sie.authority.client import Authority, AuthorityError
from sie.authority.snapshot import Assembled, assemble
from sie.bus.api import Message
from sie.domain.bundle import Bundle
from sie.domain.convergence import (
    Accepted,
    CatchUp,
    Delta,
    Ignored,
    InSync,
    Reading,
    Refused,
    Standing,
    StepBack,
    Trust,
    decide_poll,
    judge_delta,
)
from sie.domain.hash_form import HashForm
from sie.domain.registry import RegistrySnapshot
from sie.gateway.sync.bootstrap import Syncing
from sie.gateway.sync.deltas import Deltas
from sie.gateway.sync.poller import poll_forever, poll_once
from sie.wire.configs_api import ExportReply, reading_of

RIGHT_POLL_ONCE = poll_once
RIGHT_POLL_FOREVER = poll_forever
RIGHT_JUDGE = Deltas._judge


async def forces_first(syncing: Syncing, authority: Authority) -> None:
    replica = syncing.replica
    try:
        remote = reading_of(await authority.read_epoch())
    except AuthorityError:
        return
    if remote.epoch < replica.reading.epoch:
        replica.reading = attrs.evolve(replica.reading, epoch=remote.epoch)
    await RIGHT_POLL_ONCE(syncing, authority)


async def stops_at_an_error(syncing: Syncing, authority: Authority) -> None:
    failed = syncing.replica.polls["failed"]
    await RIGHT_POLL_ONCE(syncing, authority)
    if syncing.replica.polls["failed"] > failed:
        await trio.sleep_forever()


async def drops_all_at_an_error(syncing: Syncing, authority: Authority) -> None:
    failed = syncing.replica.polls["failed"]
    await RIGHT_POLL_ONCE(syncing, authority)
    if syncing.replica.polls["failed"] > failed:
        syncing.replica.registry.install(RegistrySnapshot.empty())


async def waits_for_the_first(syncing: Syncing, authority: Authority, interval_s: float, random: Random) -> NoReturn:
    while not syncing.replica.bootstrap.done:  # noqa: ASYNC110 - the clock jumps
        await trio.sleep(interval_s)
    await RIGHT_POLL_FOREVER(syncing, authority, interval_s, random)


def by_epoch_alone(local: Reading, remote: Reading) -> InSync | CatchUp | StepBack:
    return decide_poll(Reading(local.epoch), Reading(remote.epoch))


def by_higher_epoch_alone(local: Reading, remote: Reading) -> InSync | CatchUp | StepBack:
    decided = decide_poll(local, remote)
    return InSync() if isinstance(decided, StepBack) else decided


def trusts_all(self: Trust, producer: str) -> bool:
    return True


def merges(bundles: Iterable[Bundle], export: ExportReply, before: RegistrySnapshot, form: HashForm) -> Assembled:
    right = assemble(bundles, export, before, form)
    models = {**before.models, **right.snapshot.models}
    return attrs.evolve(right, snapshot=RegistrySnapshot.of(right.snapshot.bundles.values(), models.values(), form))


def all_well(bundles: Iterable[Bundle], export: ExportReply, before: RegistrySnapshot, form: HashForm) -> Assembled:
    return attrs.evolve(assemble(bundles, export, before, form), failed={})


async def on_what_was_held(self: Deltas, delta: Delta) -> None:
    standing = self.syncing.replica.standing
    async with self.syncing.turn:
        decision = judge_delta(standing, delta, self.trust)
        if isinstance(decision, Accepted):
            self.syncing.replica.take(decision)
    if isinstance(decision, Refused) or (isinstance(decision, Accepted) and decision.doubt):
        self.syncing.poll_soon()


async def epoch_of_a_refused_one(self: Deltas, delta: Delta) -> None:
    await RIGHT_JUDGE(self, delta)
    replica = self.syncing.replica
    if delta.epoch > replica.reading.epoch:
        replica.reading = attrs.evolve(replica.reading, epoch=delta.epoch)


def its_own_epoch(standing: Standing, delta: Delta, trust: Trust) -> Ignored | Refused | Accepted:
    decision = judge_delta(standing, delta, trust)
    return attrs.evolve(decision, epoch=delta.epoch) if isinstance(decision, Accepted) else decision


def hears_nothing(self: Deltas, message: Message) -> None:
    return
