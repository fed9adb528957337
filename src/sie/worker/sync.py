"""How does a worker hold the configuration that the authority has now (§7)? It reads the export, and reads it again
when the epoch poll or a delta of its bundle says that there is more.

A delta is only a reason to ask: what is applied is always the authority's own word.
"""

import logging
from collections.abc import Callable
from functools import partial
from random import Random
from typing import NoReturn

import attrs
import trio

from sie.authority.client import Authority, AuthorityError
from sie.authority.snapshot import assemble
from sie.bus.api import Subscriber
from sie.domain.convergence import InSync, Reading, decide_poll
from sie.domain.hash_form import HashForm
from sie.domain.ids import BundleName
from sie.domain.registry import RegistrySnapshot
from sie.domain.subjects import config_subject
from sie.runtime.retrying import Backoff
from sie.runtime.world import RunInThread
from sie.wire.configs_api import reading_of

log = logging.getLogger(__name__)

POLL_S = 30.0
JITTER = 0.1
"""The part of an interval by which a wait may be shorter, so that workers do not ask in step."""
LEAST_S = 1.0
"""Between two readings, whoever asks for them: anybody on the bus can."""
SPREAD_S = 0.2
"""Workers that hear of one write ask within this time of each other, not all at once."""
RETRY = Backoff(initial_s=0.2, cap_s=10.0)


@attrs.define(eq=False)
class Reconciler:
    """`install` is given each new snapshot. `reading` is what the last one was read under."""

    authority: Authority
    run_in_thread: RunInThread
    form: HashForm
    random: Random
    install: Callable[[RegistrySnapshot], None]
    reading: Reading | None = None
    snapshot: RegistrySnapshot = attrs.field(factory=RegistrySnapshot.empty)
    _asked: trio.Event = attrs.field(factory=trio.Event, init=False)

    async def read_until_done(self) -> None:
        for delay_s in RETRY.delays():
            try:
                await self._read()
            except AuthorityError as error:
                log.warning("the export cannot be read yet", extra={"error": str(error), "retry_in_s": delay_s})
                await trio.sleep(delay_s)
            else:
                return

    async def follow_forever(self, bus: Subscriber, bundle: BundleName) -> NoReturn:
        async with bus.subscribe(config_subject(bundle), lambda _: self._asked.set()):
            while True:
                await self._wait()
                try:
                    await self.read_if_behind()
                except AuthorityError as error:
                    log.warning("the config service cannot be read", extra={"error": str(error)})

    async def read_if_behind(self) -> None:
        """A worker has no epoch of its own to defend: ahead of the authority is behind it too (§4.2)."""
        remote = reading_of(await self.authority.read_epoch())
        if self.reading is None or not isinstance(decide_poll(self.reading, remote), InSync):
            await self._read()

    async def _wait(self) -> None:
        await trio.sleep(LEAST_S)
        with trio.move_on_after(POLL_S * (1.0 - JITTER * self.random.random()) - LEAST_S):
            await self._asked.wait()
            await trio.sleep(SPREAD_S * self.random.random())
        self._asked = trio.Event()

    async def _read(self) -> None:
        """The epoch first: what is then remembered can only be older than what is installed."""
        remote = reading_of(await self.authority.read_epoch())
        bundles, export = await self.authority.read_bundles(), await self.authority.read_export()
        assembled = await self.run_in_thread(partial(assemble, bundles, export, self.snapshot, self.form))
        for model, problem in assembled.failed.items():
            log.error("a model of the export is left out", extra={"model": model, "problem": problem})
        self.reading, self.snapshot = remote, assembled.snapshot
        self.install(assembled.snapshot)
        log.info("the export is read", extra={"models": len(assembled.snapshot.models), "epoch": remote.epoch})
