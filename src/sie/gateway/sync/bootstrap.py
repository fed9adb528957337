"""Catching up with the config service (§4.1): epoch, bundles, export, in this order, and one whole snapshot from them.

The epoch is read first: what is then stored can only be older than what was installed, which the next poll repairs; the
other order would leave the gateway stale for good. Tried until it succeeds once, and never in anyone's way.
"""

import logging
from collections.abc import Callable
from functools import partial
from itertools import chain

import attrs
import trio

from sie.authority.client import Authority, AuthorityError
from sie.authority.snapshot import Assembled, assemble
from sie.domain.bundle import Bundle
from sie.domain.convergence import InSync, Reading, decide_poll
from sie.domain.hash_form import HashForm
from sie.domain.registry import RegistrySnapshot
from sie.gateway.core.replica import Replica
from sie.runtime.retrying import Backoff
from sie.runtime.world import RunInThread, let_go
from sie.wire.configs_api import ExportReply, reading_of

log = logging.getLogger(__name__)

BACKOFF = Backoff(initial_s=1.0, cap_s=60.0)
FIRST_TRIES_S = (0.1, 0.2, 0.4)
"""Before the backoff proper: on one machine the config service starts beside the gateway."""


class PartialApply(AuthorityError):
    """Some rows could not be taken; the good ones are installed, the fingerprints do not move (decisions)."""


@attrs.define(eq=False)
class Syncing:
    """Whoever changes the replica holds `turn`. It spans the reads of a catching up and the building of its snapshot:
    a delta that comes meanwhile is judged by the snapshot that the export gave. `tried` is set when the first
    catching up has ended, well or not.
    """

    replica: Replica
    run_in_thread: RunInThread
    build_in_thread: RunInThread
    form: HashForm
    turn: trio.Lock = attrs.field(factory=trio.Lock, init=False)
    tried: trio.Event = attrs.field(factory=trio.Event, init=False)
    _poll_soon: trio.Event = attrs.field(factory=trio.Event, init=False)

    def poll_soon(self) -> None:
        """Something does not fit: ask the authority now, not when the interval ends."""
        self._poll_soon.set()

    async def wait_poll(self, at_most_s: float) -> None:
        with trio.move_on_after(at_most_s):
            await self._poll_soon.wait()
        self._poll_soon = trio.Event()


async def bootstrap_until_done(syncing: Syncing, authority: Authority) -> None:
    began, bootstrap = trio.current_time(), syncing.replica.bootstrap
    for delay_s in chain(FIRST_TRIES_S, BACKOFF.delays()):
        if bootstrap.done:
            break  # a poll was quicker
        try:
            await catch_up(syncing, authority)
        except AuthorityError as error:
            bootstrap.failed(trio.current_time() - began)
            tell = log.error if bootstrap.degraded else log.warning
            tell("the config service could not be read yet", extra={"error": str(error), "tries": bootstrap.attempts})
            syncing.tried.set()
            await trio.sleep(delay_s)
        else:
            break
    syncing.tried.set()


async def catch_up(syncing: Syncing, authority: Authority, *, may_step_back: bool = False) -> None:
    """Raises AuthorityError; on any but PartialApply the replica is as it was.

    The local epoch falls only with `may_step_back`, and then only now, with the authority's models installed (§4.2).
    """
    replica = syncing.replica
    async with syncing.turn:
        began = trio.current_time()
        remote = reading_of(await authority.read_epoch())
        if replica.bootstrap.done and isinstance(decide_poll(replica.reading, remote), InSync):
            return  # whoever had the turn before has done it
        bundles, exports = await authority.read_bundles(), [await authority.read_export()]
        exported, held = exports[0].epoch, [replica.registry.snapshot]
        build: Callable[[], Assembled] = partial(_build, bundles, exports, held, syncing.form)
        assembled = await syncing.build_in_thread(build)
        if assembled.failed:
            replica.install_partly(assembled.snapshot)
            raise PartialApply("; ".join(f"{model}: {why}" for model, why in assembled.failed.items()))
        floor = 0 if may_step_back else replica.reading.epoch
        reading = _reading(remote, exported, assembled, floor)
        replica.adopt(assembled.snapshot, reading, exported)
        replica.bootstrap.succeeded()
        await syncing.run_in_thread(lambda: let_go(held.pop().pieces()))
    log.info("the registry equals the config service", extra=_facts(reading, assembled, trio.current_time() - began))


def _build(
    bundles: tuple[Bundle, ...], exports: list[ExportReply], held: list[RegistrySnapshot], form: HashForm
) -> Assembled:
    """In a thread. The lists have one thing each: the export is taken out, and let go of here rather than in the loop,
    since thousands of documents take their time; of the snapshot, nobody keeps what must be let go of later.
    """
    export = exports.pop()
    assembled = assemble(bundles, export, held[0], form)
    rows = list(export.models)
    del export
    let_go(rows)
    return assembled


def _reading(remote: Reading, exported: int, assembled: Assembled, floor: int) -> Reading:
    """The fingerprints that were read, while they belong to the export; else those of what was built from it."""
    if exported == remote.epoch:
        return attrs.evolve(remote, epoch=max(remote.epoch, floor))
    snapshot = assembled.snapshot
    epoch = max(remote.epoch, exported, floor)
    return Reading(epoch, snapshot.bundles_hash, snapshot.bundle_config_hashes_hash)


def _facts(reading: Reading, assembled: Assembled, took_s: float) -> dict[str, object]:
    snapshot = assembled.snapshot
    bundles, models = len(snapshot.bundles), len(snapshot.models)
    return {"epoch": reading.epoch, "bundles": bundles, "models": models, "took_s": round(took_s, 3)}
