"""What does this gateway hold of the authority, and how did it come by it (§4)? Sans-IO; `sync` changes it, all read.

The counters are plain: `/health` shows them, and telemetry reads the same ones.
"""

from collections import Counter

import attrs

from sie.domain.convergence import Accepted, Reading, Standing
from sie.domain.registry import ModelRegistry, RegistrySnapshot

DEGRADED_ATTEMPTS = 10
DEGRADED_S = 300.0


@attrs.define
class Bootstrap:
    """`degraded` after `DEGRADED_ATTEMPTS` failures or `DEGRADED_S` without a success; the first success clears it.
    `is_needed`: there is an authority to read.
    """

    done: bool = False
    attempts: int = 0
    degraded: bool = False
    is_needed: bool = True

    @property
    def is_over(self) -> bool:
        """What is not known here by now is not there."""
        return self.done or not self.is_needed

    def failed(self, for_s: float) -> None:
        """`for_s` is how long nothing has succeeded."""
        self.attempts += 1
        self.degraded = self.degraded or self.attempts >= DEGRADED_ATTEMPTS or for_s >= DEGRADED_S

    def gave_up(self) -> None:
        self.degraded = True

    def succeeded(self) -> None:
        self.attempts += 1
        self.done, self.degraded = True, False


@attrs.define(eq=False)
class Replica:
    """`reading` is what the epoch poll compares: an epoch never stands here without the snapshot it belongs to."""

    registry: ModelRegistry = attrs.field(factory=ModelRegistry)
    reading: Reading = attrs.field(factory=Reading)
    exported: int = 0
    bootstrap: Bootstrap = attrs.field(factory=Bootstrap)
    deltas: Counter[str] = attrs.field(factory=Counter)
    polls: Counter[str] = attrs.field(factory=Counter)

    @property
    def standing(self) -> Standing:
        return Standing(self.registry.snapshot, self.reading.epoch, self.exported)

    def adopt(self, snapshot: RegistrySnapshot, reading: Reading, exported: int) -> None:
        """A whole export: its models and no others, at the epoch that was read before it or its own, if higher."""
        self.registry.install(snapshot)
        self.reading, self.exported = reading, exported

    def take(self, accepted: Accepted) -> None:
        """A delta. The fingerprints are then our own: equal to the authority's if we missed nothing."""
        snapshot = accepted.snapshot
        if snapshot is not self.registry.snapshot:
            self.registry.install(snapshot)
            self.reading = Reading(accepted.epoch, snapshot.bundles_hash, snapshot.bundle_config_hashes_hash)
        else:
            self.reading = attrs.evolve(self.reading, epoch=accepted.epoch)

    def install_partly(self, snapshot: RegistrySnapshot) -> None:
        """Good rows of an export with bad ones: nothing that the poll compares moves, so it will ask again."""
        self.registry.install(snapshot)
