"""May this document become a model (§3, wire-facts 3.3)? Beyond its schema: names, adapters, bundles, pool.

The words are the published service's, which people and tools match on.
"""

from collections.abc import Mapping

import attrs

from sie.config.core.merge import PROFILES, profiles_of
from sie.domain import ids
from sie.domain.ids import DEFAULT_POOL
from sie.domain.model import Json
from sie.domain.registry import RegistrySnapshot

Config = Mapping[str, Json]


@attrs.frozen
class Wrong:
    reasons: tuple[str, ...]


def with_canonical_pool(config: Config) -> Config:
    """The pool in lower case, as every border keeps it, and none for an empty one; what is no name is for the check."""
    pool = config.get("pool", 0)
    if pool is not None and not isinstance(pool, str):
        return config
    named = (pool or "").strip().lower()
    return {key: named if key == "pool" else value for key, value in config.items() if key != "pool" or named}


def check_new(known: RegistrySnapshot, held: Config, incoming: Config) -> Wrong | None:
    """For an append to `held`, which is empty where there is no such model yet."""
    wrong = _check_head(incoming)
    if wrong is not None:
        return wrong
    offered, merged = profiles_of(incoming), {**profiles_of(held), **profiles_of(incoming)}
    for name, profile in offered.items():
        leads = _adapter(offered, name) is not None or _field(profile, "extends") is not None
        wrong = _check_profile(name, leads_to_adapter=leads)
        if wrong is not None:
            return wrong
    return _check_adapters(known, merged, offered) or _check_same_pool(held, incoming)


def check_replacement(known: RegistrySnapshot, incoming: Config) -> Wrong | None:
    """For a whole document: each profile must resolve within it."""
    wrong = _check_head(incoming)
    if wrong is not None:
        return wrong
    profiles = profiles_of(incoming)
    for name in profiles:
        wrong = _check_profile(name, leads_to_adapter=_adapter(profiles, name) is not None)
        if wrong is not None:
            return wrong
    return _check_adapters(known, profiles, profiles)


def _check_head(config: Config) -> Wrong | None:
    if not config.get("sie_id"):
        return Wrong(("Missing required field: sie_id",))
    pool = config.get("pool")
    if pool:
        try:
            ids.pool_name(str(pool))
        except ids.InvalidId:
            return Wrong((f"Field 'pool' must match [A-Za-z0-9_-]{{1,128}} and must not be _default, not {pool!r}",))
    if not profiles_of(config):
        return Wrong((f"Missing required field: {PROFILES}",))
    return None


def _check_profile(name: str, *, leads_to_adapter: bool) -> Wrong | None:
    try:
        ids.profile_name(name)
    except ids.InvalidId:
        return Wrong((f"Profile name '{name}' must match [A-Za-z0-9._-]+, at most 128 long",))
    return None if leads_to_adapter else Wrong((f"Profile '{name}' missing adapter_path",))


def _check_adapters(known: RegistrySnapshot, profiles: Mapping[str, Json], named: Mapping[str, Json]) -> Wrong | None:
    modules = {path.partition(":")[0] for name in named if (path := _adapter(profiles, name)) is not None}
    unknown = modules - _adapters(known)
    return Wrong((f"Adapter(s) not in any known bundle: {', '.join(sorted(unknown))}",)) if unknown else None


def _check_same_pool(held: Config, incoming: Config) -> Wrong | None:
    if not held or "pool" not in incoming:
        return None
    if (incoming["pool"] or DEFAULT_POOL) == (with_canonical_pool(held).get("pool") or DEFAULT_POOL):
        return None
    words = f"Pool on model '{incoming['sie_id']}' already exists with different value. Config API is append-only."
    return Wrong((words,))


def check_reach(known: RegistrySnapshot, held: Config, incoming: Config) -> Wrong | None:
    """What no bundle serves, nobody could ever be routed to. Asked of an append that contradicts nothing."""
    merged = {**profiles_of(held), **profiles_of(incoming)}
    created = [name for name in profiles_of(incoming) if name not in profiles_of(held)]
    modules = {path.partition(":")[0] for name in merged if (path := _adapter(merged, name)) is not None}
    if not created or modules & _adapters(known):
        return None
    if held:
        return Wrong((f"Appending profile(s) {created} to model '{incoming['sie_id']}' does not affect any bundle.",))
    words = f"Model '{incoming['sie_id']}' does not resolve to any known bundle. One profile at least must have an "
    return Wrong((f"{words}adapter_path whose module a bundle lists.",))


def _adapters(known: RegistrySnapshot) -> frozenset[str]:
    return frozenset(adapter for bundle in known.bundles.values() for adapter in bundle.adapters)


def _adapter(profiles: Mapping[str, Json], name: str) -> str | None:
    """The profile's own adapter path, or that of what it extends; None where neither leads to one."""
    seen: set[str] = set()
    wanted: str | None = name
    while wanted is not None and wanted not in seen:
        seen.add(wanted)
        own = _field(profiles.get(wanted), "adapter_path")
        if own:
            return own
        wanted = _field(profiles.get(wanted), "extends")
    return None


def _field(profile: Json, key: str) -> str | None:
    value = profile.get(key) if isinstance(profile, Mapping) else None
    return value if isinstance(value, str) and value else None
