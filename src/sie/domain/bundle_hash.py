"""What two services compare to know that they hold the same configuration (§7, wire-facts 3.7).

The only copy of these rules. `bundle_config_hash` covers what the workers of one bundle must agree on; the two
fingerprints of `/epoch` cover the rest.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping

from sie.domain.bundle import Bundle
from sie.domain.canonical_json import canonical_json
from sie.domain.ids import BundleName, PoolName, ProfileName
from sie.domain.model import Json, Model, Profile

BundleHash = str
"""64 lowercase hex digits."""


def bundle_config_hash(bundle: Bundle, models: Iterable[Model], pool: PoolName | None = None) -> BundleHash | None:
    """The hash of what workers of `bundle` serve, in `pool` alone where given; None where that is nothing (§7)."""
    scope = (model for model in models if pool is None or model.pool == pool)
    rows = [row for model in sorted(scope, key=lambda m: m.sie_id) if (row := _model_row(bundle, model)) is not None]
    return _sha256(canonical_json(rows)) if rows else None


def bundles_hash(bundles: Iterable[Bundle]) -> BundleHash | None:
    """The fingerprint of the bundle set, which the epoch does not count (§4.2)."""
    rows = [
        {"adapters": sorted(b.adapters), "engine": b.engine, "name": b.name, "priority": b.priority}
        for b in sorted(bundles, key=lambda b: b.name)
    ]
    return _sha256(_ascii_json(rows)) if rows else None


def bundle_config_hashes_hash(
    hashes: Mapping[BundleName, BundleHash | None], pools: Mapping[BundleName, Mapping[str, PoolName]]
) -> BundleHash | None:
    """The fingerprint of every bundle's hash and of which pool owns each of its models (§4.1)."""
    rows = {
        name: {"bundle_config_hash": value or "", "model_pools": dict(pools.get(name, {}))}
        for name, value in hashes.items()
    }
    return _sha256(_ascii_json(rows)) if rows else None


def serves(bundle: Bundle, model: Model) -> bool:
    """Does any profile of the model run on the bundle's adapters?"""
    return any(p is not None and p.module in bundle.adapters for p in map(model.effective, model.profiles))


def _model_row(bundle: Bundle, model: Model) -> Mapping[str, Json] | None:
    if not serves(bundle, model):
        return None
    effective = ((name, model.effective(name)) for name in sorted(model.profiles))
    rows = [
        _profile_row(name, profile)
        for name, profile in effective
        # A profile that names no adapter at all is hashed too: it may yet be given one (wire-facts 3.7).
        if profile is not None and (profile.module is None or profile.module in bundle.adapters)
    ]
    return {"profiles": rows, "revision": model.hf_revision, "sie_id": model.sie_id}


def _profile_row(name: ProfileName, profile: Profile) -> Mapping[str, Json]:
    config: Mapping[str, Json] = {
        "adapter_options": _canonical_options(profile.options),
        "adapter_path": profile.adapter_path,
        "compute_precision": profile.compute_precision,
        "max_batch_tokens": profile.max_batch_tokens,
    }
    return {"config": config, "name": name}


def _canonical_options(options: Mapping[str, Json] | None) -> Mapping[str, Json] | None:
    """Options in which every value is falsy say nothing, so they hash like none at all (§7)."""
    return options if options and any(options.values()) else None


def _ascii_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _sha256(text: str) -> BundleHash:
    return hashlib.sha256(text.encode()).hexdigest()
