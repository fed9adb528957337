"""Asking the config service again and again whether anything was missed (§4.2); what follows is `decide_poll`'s."""

import logging
from random import Random
from typing import NoReturn, assert_never

import trio

from sie.authority.client import Authority, AuthorityError
from sie.domain.convergence import CatchUp, InSync, StepBack, decide_poll
from sie.gateway.sync.bootstrap import Syncing, catch_up
from sie.wire.configs_api import reading_of

log = logging.getLogger(__name__)

JITTER = 0.1
"""The part of an interval by which a wait may be shorter, so that replicas do not ask in step; never longer."""
LEAST_S = 1.0
"""Between two polls, however often one is asked for at once."""


async def poll_forever(syncing: Syncing, authority: Authority, interval_s: float, random: Random) -> NoReturn:
    """The first poll is due after one whole interval: by then the first catching up has had its try."""
    wait_s = interval_s
    while True:
        await syncing.wait_poll(wait_s)
        await poll_once(syncing, authority)
        await trio.sleep(min(LEAST_S, interval_s))
        wait_s = max(0.0, interval_s * (1.0 - JITTER * random.random()) - LEAST_S)


async def poll_once(syncing: Syncing, authority: Authority) -> None:
    """Nothing moves when the authority cannot be read, the local epoch and the fingerprints least of all."""
    polls = syncing.replica.polls
    try:
        remote = reading_of(await authority.read_epoch())
        decision = decide_poll(syncing.replica.reading, remote)
        polls[type(decision).__name__] += 1
        match decision:
            case InSync():
                return
            case CatchUp(because):
                log.info("behind the config service", extra={"because": because, "epoch": remote.epoch})
                await catch_up(syncing, authority)
            case StepBack(to):
                ours = syncing.replica.reading.epoch
                log.error("ahead of the config service", extra={"epoch": ours, "authority": to})
                await catch_up(syncing, authority, may_step_back=True)
            case other:
                assert_never(other)
    except AuthorityError as error:
        polls["failed"] += 1
        log.warning("a poll of the config service failed", extra={"error": str(error)})
