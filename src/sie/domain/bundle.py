"""Which workers can serve a model: a bundle is a named set of adapter modules with a priority (§1, §16.1)."""

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from sie.domain.ids import BundleName

DEFAULT_PRIORITY = 100
DEFAULT_ENGINE: Final = "pytorch"
"""What a bundle without `engine` counts as in `bundles_hash`, so that published peers agree (wire-facts 3.6)."""
CANDLE_ENGINE: Final = "candle"
CANDLE_ADAPTERS: Final = "sie_server_rust.adapters.candle"
"""What the path of each adapter that the candle engine runs starts with; no other engine runs one."""


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


def misplaced_adapters(engine: str, adapters: Iterable[str]) -> tuple[str, ...]:
    """Those that a worker of this engine could never run (wire-facts 3.6)."""
    runs_candle = engine == CANDLE_ENGINE
    return tuple(adapter for adapter in adapters if adapter.startswith(CANDLE_ADAPTERS) != runs_candle)


@attrs.frozen
class BundleSet:
    """Bundles by name, best first, with the ones that list each adapter module looked up rather than searched."""

    by_name: Mapping[BundleName, Bundle]
    by_module: Mapping[str, tuple[BundleName, ...]]

    @classmethod
    def of(cls, bundles: Iterable[Bundle]) -> "BundleSet":
        """Of two with one name, the later is taken."""
        latest = {bundle.name: bundle for bundle in bundles}
        ranked = sorted(latest.values(), key=lambda bundle: bundle.rank)
        by_module: dict[str, list[BundleName]] = {}
        for bundle in ranked:
            for module in dict.fromkeys(bundle.adapters):
                by_module.setdefault(module, []).append(bundle.name)
        return cls({b.name: b for b in ranked}, {module: tuple(names) for module, names in by_module.items()})

    def running(self, module: str | None) -> tuple[BundleName, ...]:
        """The bundles that list it, best first."""
        return self.by_module.get(module, ()) if module is not None else ()

    def ranked(self, names: Iterable[BundleName]) -> tuple[BundleName, ...]:
        """The same names, once each and best first."""
        return tuple(sorted(set(names), key=lambda name: self.by_name[name].rank))
