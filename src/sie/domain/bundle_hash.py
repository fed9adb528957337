"""What two services compare to know that they hold the same configuration (§7, wire-facts 3.7).

The only copy of these rules. `bundle_config_hash` covers what the workers of one bundle must agree on; the two
fingerprints of `/epoch` cover the rest. A registry keeps the texts behind them, and hashes them again and again.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import takewhile

import attrs

from sie.domain.bundle import Bundle
from sie.domain.canonical_json import canonical_json
from sie.domain.hash_form import HashForm, hashed_options
from sie.domain.ids import BundleName, ModelId, PoolName, ProfileName
from sie.domain.joined_rows import JoinedRows
from sie.domain.model import Model, Profile, resolve

BundleHash = str
"""64 lowercase hex digits."""


@attrs.frozen
class HashedProfile:
    """A profile that resolves: the module that decides which bundles it is for, and its text in their hashes."""

    name: ProfileName
    module: str | None
    text: str


@attrs.frozen(eq=False)
class HashedRows:
    """The rows of a bundle's models with their hash; no rows have none. `_states` are those of the hash after each
    segment, copied and never updated: what changes late in the order of ids is hashed from there.
    """

    rows: JoinedRows
    value: BundleHash | None
    _states: "tuple[hashlib._Hash, ...]"

    @classmethod
    def of(cls, rows: Mapping[ModelId, bytes]) -> "HashedRows":
        return cls._hashed(JoinedRows.of(rows), ())

    def with_row(self, sie_id: ModelId, row: bytes) -> "HashedRows":
        return self._changed(self.rows.with_row(sie_id, row))

    def without_row(self, sie_id: ModelId) -> "HashedRows":
        return self._changed(self.rows.without_row(sie_id))

    def _changed(self, rows: JoinedRows) -> "HashedRows":
        pairs = zip(self.rows.segments, rows.segments, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        return self._hashed(rows, self._states[:same])

    @classmethod
    def _hashed(cls, rows: JoinedRows, states: "tuple[hashlib._Hash, ...]") -> "HashedRows":
        """`states` are those after the first segments."""
        for segment in rows.segments[len(states) :]:
            state = states[-1].copy() if states else hashlib.sha256(b"[")
            state.update(segment.text if states else segment.text[1:])
            states = (*states, state)
        if not states:
            return cls(rows, None, ())
        whole = states[-1].copy()
        whole.update(b"]")
        return cls(rows, whole.hexdigest(), states)


def bundle_config_hash(
    bundle: Bundle, models: Iterable[Model], pool: PoolName | None = None, form: HashForm = HashForm.REFERENCE
) -> BundleHash | None:
    """The hash of what workers of `bundle` serve, in `pool` alone where given; None where that is nothing (§7)."""
    scope = (model for model in models if pool is None or model.pool == pool)
    rows = {model.sie_id: model_row(model, hashed_profiles(model, form), bundle.adapters) for model in scope}
    return HashedRows.of({sie_id: row for sie_id, row in rows.items() if row is not None}).value


def hashed_profiles(model: Model, form: HashForm) -> tuple[HashedProfile, ...]:
    """By name; those that do not resolve are left out."""
    found = ((name, model.lineage(name)) for name in sorted(model.profiles))
    return tuple(_hashed_profile(name, lineage, form) for name, lineage in found if lineage is not None)


def model_row(model: Model, profiles: Iterable[HashedProfile], adapters: Iterable[str]) -> bytes | None:
    """The model's text in the hash of a bundle with these adapters; None where it runs no profile of the model."""
    listed = frozenset(adapters)
    # A profile that names no adapter at all is hashed too: it may yet be given one (wire-facts 3.7).
    kept = [profile for profile in profiles if profile.module is None or profile.module in listed]
    if not any(profile.module is not None for profile in kept):
        return None
    texts = ",".join([profile.text for profile in kept])
    revision, sie_id = canonical_json(model.hf_revision), canonical_json(model.sie_id)
    return f'{{"profiles":[{texts}],"revision":{revision},"sie_id":{sie_id}}}'.encode()


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
    return members_hash(
        {
            name: bundle_member(name, value, [b",".join([owner_member(*item) for item in sorted(owned.items())])])
            for name, value in hashes.items()
            for owned in (pools.get(name, {}),)
        }
    )


def owner_member(sie_id: str, pool: PoolName) -> bytes:
    """One model among its bundle's `model_pools`."""
    return _ascii_json(sie_id) + b":" + _ascii_json(pool)


def bundle_member(name: BundleName, value: BundleHash | None, owners: Iterable[bytes]) -> bytes:
    """One bundle in the second fingerprint; `owners` are pieces of a text, in the order of their models' ids."""
    head = _ascii_json(name) + b':{"bundle_config_hash":' + _ascii_json(value or "")
    return head + b',"model_pools":{' + b"".join(owners) + b"}}"


def members_hash(members: Mapping[BundleName, bytes]) -> BundleHash | None:
    text = b",".join([members[name] for name in sorted(members)])
    return _sha256(b"{" + text + b"}") if text else None


def serves(bundle: Bundle, model: Model) -> bool:
    """Does any profile of the model run on the bundle's adapters?"""
    return any(p is not None and p.module in bundle.adapters for p in map(model.effective, model.profiles))


def _hashed_profile(name: ProfileName, lineage: tuple[Profile, ...], form: HashForm) -> HashedProfile:
    profile = resolve(lineage)
    config = (
        f'{{"adapter_options":{canonical_json(hashed_options(lineage, form))}'
        f',"adapter_path":{canonical_json(profile.adapter_path)}'
        f',"compute_precision":{canonical_json(profile.compute_precision)}'
        f',"max_batch_tokens":{canonical_json(profile.max_batch_tokens)}}}'
    )
    return HashedProfile(name, profile.module, f'{{"config":{config},"name":{canonical_json(name)}}}')


def _ascii_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _sha256(text: bytes) -> BundleHash:
    return hashlib.sha256(text).hexdigest()
