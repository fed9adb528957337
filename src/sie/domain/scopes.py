"""What are one bundle's workers compared by (§7), and what does a write change of it?

A write pays for its own model: what is kept of all the others is neither made nor walked again, however many they are.
"""

from collections.abc import Mapping

import attrs

from sie.domain.bundle_hash import BundleHash, HashedRows, bundle_member
from sie.domain.ids import BundleName, ModelId, PoolName
from sie.domain.joined_rows import JoinedRows
from sie.domain.registered import Registered


@attrs.frozen
class Scopes:
    """`whole` are the rows of all the bundle's models, `by_pool` those of each pool that has any; `owners` tell which
    pool has each model, and `member` is the bundle's text in the second fingerprint.
    """

    whole: HashedRows
    by_pool: Mapping[PoolName, HashedRows]
    owners: JoinedRows
    pool_hashes: Mapping[PoolName, BundleHash]
    member: bytes

    @classmethod
    def of(cls, bundle: BundleName, registered: Mapping[ModelId, Registered]) -> "Scopes":
        rows: dict[ModelId, bytes] = {}
        owners: dict[ModelId, bytes] = {}
        of_pool: dict[PoolName, dict[ModelId, bytes]] = {}
        for sie_id, known in registered.items():
            row = known.rows.get(bundle)
            if row is not None:
                rows[sie_id], owners[sie_id] = row, known.owner
                of_pool.setdefault(known.model.pool, {})[sie_id] = row
        whole = HashedRows.of(rows)
        # Most bundles lie in one pool, whose hash is then the bundle's own: megabytes need not be hashed twice.
        by_pool = {pool: whole if len(of_pool) == 1 else HashedRows.of(part) for pool, part in of_pool.items()}
        return cls._made(bundle, whole, by_pool, JoinedRows.of(owners))

    def changed(
        self, bundle: BundleName, sie_id: ModelId, before: Registered | None, after: Registered | None
    ) -> "Scopes":
        """With that one model put in, replaced or taken out."""
        left, joined = _pool_in(bundle, before), _pool_in(bundle, after)
        by_pool = dict(self.by_pool)
        if left is not None and left != joined:
            by_pool[left] = by_pool[left].without_row(sie_id)
            if by_pool[left].value is None:
                del by_pool[left]
        whole, owners = self.whole, self.owners
        if after is not None and joined is not None:
            row = after.rows[bundle]
            by_pool[joined] = by_pool.get(joined, _NO_ROWS).with_row(sie_id, row)
            whole = by_pool[joined] if len(by_pool) == 1 else whole.with_row(sie_id, row)
            owners = owners.with_row(sie_id, after.owner)
        else:
            whole, owners = whole.without_row(sie_id), owners.without_row(sie_id)
        return Scopes._made(bundle, whole, by_pool, owners)

    @classmethod
    def _made(
        cls, bundle: BundleName, whole: HashedRows, by_pool: Mapping[PoolName, HashedRows], owners: JoinedRows
    ) -> "Scopes":
        pool_hashes = {pool: rows.value for pool, rows in sorted(by_pool.items()) if rows.value is not None}
        return cls(whole, by_pool, owners, pool_hashes, bundle_member(bundle, whole.value, owners.chunks))


_NO_ROWS = HashedRows.of({})


def _pool_in(bundle: BundleName, known: Registered | None) -> PoolName | None:
    """None where the bundle does not serve it."""
    return known.model.pool if known is not None and bundle in known.rows else None
