"""What the config service serves now: one catalogue with the epoch that it stands at, replaced in one assignment.

A reader that takes `current` once has a state that existed between two writes, without a lock (§3: the export is a
serialization point).
"""

import attrs

from sie.config.core.catalog import Catalog


@attrs.frozen
class Held:
    """`epoch` is 0 where the stored one was no number. The hashes are those of the catalogue all the same: without them
    a gateway that stands at 0 too would take that for agreement, and miss a change of the bundles.
    """

    catalog: Catalog
    epoch: int = 0


@attrs.define(eq=False)
class ConfigState:
    """`current` is None until the registry has been built (§11). `epoch` answers even then."""

    current: Held | None = None

    @property
    def epoch(self) -> int:
        return self.current.epoch if self.current is not None else 0

    def install(self, held: Held) -> None:
        self.current = held
