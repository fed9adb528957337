"""Which workers can serve a model: a bundle is a named set of adapter modules with a priority (§1, §16.1)."""

from typing import Final

import attrs

from sie.domain.ids import BundleName

DEFAULT_PRIORITY = 100
DEFAULT_ENGINE: Final = "pytorch"
"""What a bundle without `engine` counts as in `bundles_hash`, so that published peers agree (wire-facts 3.6)."""


@attrs.frozen
class Bundle:
    """`adapters` are module paths as written; a lower `priority` wins, ties go by name."""

    name: BundleName
    adapters: tuple[str, ...]
    priority: int = DEFAULT_PRIORITY
    engine: str = DEFAULT_ENGINE

    @property
    def rank(self) -> tuple[int, str]:
        return self.priority, self.name
