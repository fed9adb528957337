"""Everything that keeps the replica equal to the authority, as one block around the server (§4): the seed, the deltas,
the first catching up and the poll. Each is a task of this block's nursery and ends with it.
"""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random

import attrs
import trio

from sie.authority.client import Authority, AuthorityError
from sie.bus.api import Subscriber
from sie.domain.convergence import Trust
from sie.domain.subjects import CONFIG_ALL
from sie.gateway.sync.bootstrap import Syncing, bootstrap_until_done
from sie.gateway.sync.deltas import Deltas
from sie.gateway.sync.poller import poll_forever
from sie.gateway.sync.seed import Folders, Seed

log = logging.getLogger(__name__)

FIRST_ANSWER_S = 2.0
"""For the first catching up, which takes some hundredths of a second where the config service is up."""

OpenOurs = Callable[[], AbstractAsyncContextManager[Authority]]


@attrs.frozen
class Sources:
    """Where the registry comes from: None where a source is not set. `poll_s` lies between two polls."""

    open_authority: OpenOurs | None
    folders: Folders | None
    trust: Trust
    poll_s: float
    random: Random


@asynccontextmanager
async def following(syncing: Syncing, bus: Subscriber, sources: Sources) -> AsyncIterator[None]:
    """The folders have been read when the block begins, and the authority has been tried once (§4). It is no condition:
    one that is away, or slow, holds nothing up. But whoever asks before it was read is sent away for seconds.
    """
    if sources.trust.anyone:
        log.warning("deltas of any producer are taken: SIE_NATS_CONFIG_TRUST_ANY_PRODUCER is for development alone")
    deltas = Deltas(syncing, sources.trust)
    async with bus.subscribe(CONFIG_ALL, deltas.receive), trio.open_nursery() as nursery:
        nursery.start_soon(deltas.apply_forever)
        if sources.folders is not None:
            seed = Seed(sources.folders, syncing)
            await seed.load()
            nursery.start_soon(seed.watch_forever)
        nursery.start_soon(follow_authority, syncing, sources)
        with trio.move_on_after(FIRST_ANSWER_S):
            await syncing.tried.wait()
        yield
        nursery.cancel_scope.cancel()


async def follow_authority(syncing: Syncing, sources: Sources) -> None:
    """Returns where there is none to follow, and where its address cannot be one (§4.1)."""
    if sources.open_authority is None:
        log.info("no config service is set: only folders and deltas are followed")
        syncing.replica.bootstrap.is_needed = False
        syncing.tried.set()
        return
    try:
        async with sources.open_authority() as authority, trio.open_nursery() as nursery:
            nursery.start_soon(bootstrap_until_done, syncing, authority)
            nursery.start_soon(poll_forever, syncing, authority, sources.poll_s, sources.random)
    except AuthorityError as error:
        syncing.replica.bootstrap.gave_up()
        syncing.tried.set()
        log.error("the config service cannot be followed", extra={"error": str(error)})
