"""The first catching up with the config service (§4.1): tried until it succeeds once, and never in anyone's way.

The epoch is read before the bundles and they before the export: what is then stored can only be older than what was
installed, which a later poll repairs; the other order would leave the gateway stale for good.
"""

import logging
from itertools import chain

import attrs
import trio

from sie.authority.client import Authority, AuthorityError
from sie.authority.snapshot import Assembled, assemble
from sie.domain.registry import ModelRegistry
from sie.runtime.retrying import Backoff
from sie.wire.configs_api import EpochReply

log = logging.getLogger(__name__)

BACKOFF = Backoff(initial_s=1.0, cap_s=60.0)
FIRST_TRIES_S = (0.1, 0.2, 0.4)
"""Before the backoff proper: on one machine the config service starts beside the gateway."""


@attrs.define
class Replica:
    """The gateway's copy of the authority's registry, with the fingerprints of what it was made from."""

    registry: ModelRegistry
    reading: EpochReply | None = None


class PartialApply(AuthorityError):
    """Some rows could not be taken; the good ones are installed, the fingerprints do not move (decisions)."""


async def bootstrap_until_done(replica: Replica, authority: Authority) -> None:
    for delay_s in chain(FIRST_TRIES_S, BACKOFF.delays()):
        try:
            await bootstrap_once(replica, authority)
        except AuthorityError as error:
            log.warning("the config service could not be read yet", extra={"error": str(error)})
            await trio.sleep(delay_s)
        else:
            return


async def bootstrap_once(replica: Replica, authority: Authority) -> None:
    """Raises AuthorityError; on any but PartialApply the registry is as it was."""
    reading = await authority.read_epoch()
    bundles = await authority.read_bundles()
    assembled = assemble(bundles, await authority.read_export())
    replica.registry.install(assembled.snapshot)
    if assembled.failed:
        raise PartialApply("; ".join(f"{model}: {why}" for model, why in assembled.failed.items()))
    replica.reading = reading
    log.info("the registry equals the config service", extra=_facts(reading, assembled))


def _facts(reading: EpochReply, assembled: Assembled) -> dict[str, object]:
    snapshot = assembled.snapshot
    return {"epoch": reading.epoch, "bundles": len(snapshot.bundles), "models": len(snapshot.models)}
