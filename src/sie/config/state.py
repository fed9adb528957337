"""What the config service serves now: one catalogue with the epoch that it stands at, replaced in one assignment.

A reader that takes `current` once has a state that existed between two writes, without a lock (§3: the export is a
serialization point).
"""

import attrs

from sie.config.core.catalog import Catalog


@attrs.frozen
class Held:
    """`hashes_known` is False where the stored epoch was no number: its hashes must then not be told (decisions)."""

    catalog: Catalog
    epoch: int = 0
    hashes_known: bool = True


@attrs.define(eq=False)
class ConfigState:
    """`current` is None until the registry has been built (§11). `epoch` answers even then."""

    current: Held | None = None

    @property
    def epoch(self) -> int:
        return self.current.epoch if self.current is not None else 0

    def install(self, held: Held) -> None:
        self.current = held
