"""However models come, go and move between pools, a bundle is compared by what it would be from scratch (§7)."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.bundle_hash import owner_member
from sie.domain.ids import BundleName, ModelId, PoolName
from sie.domain.model import Model
from sie.domain.registered import Registered
from sie.domain.scopes import Scopes
from sie.testing import strategies

BUNDLE = BundleName("alpha")
IDS = st.integers(0, 9).map(lambda number: ModelId(f"m{number}"))
POOLS = st.sampled_from([PoolName("default"), PoolName("l4"), PoolName("a100")])


def known(model: Model, sie_id: ModelId, pool: PoolName, row: bytes | None) -> Registered:
    """Without a row it is another bundle's."""
    rows = {BUNDLE: row} if row is not None else {BundleName("beta"): b"{}"}
    return Registered(attrs.evolve(model, sie_id=sie_id, pool=pool), rows, owner_member(sie_id, pool), {})


REGISTERED = st.builds(known, strategies.models, IDS, POOLS, st.none() | st.binary(max_size=2))
CHANGES = st.lists(REGISTERED | IDS, max_size=12)


@given(CHANGES)
def test_changes_one_by_one_come_to_what_they_leave(changes: list[Registered | ModelId]) -> None:
    registered: dict[ModelId, Registered] = {}
    scopes = Scopes.of(BUNDLE, registered)
    for change in changes:
        after = change if isinstance(change, Registered) else None
        sie_id = change.model.sie_id if isinstance(change, Registered) else change
        before = registered.pop(sie_id, None)
        if after is not None:
            registered[sie_id] = after
        scopes = scopes.changed(BUNDLE, sie_id, before, after)
        expected = Scopes.of(BUNDLE, registered)
        assert scopes.whole.value == expected.whole.value
        assert scopes.pool_hashes == expected.pool_hashes
        assert scopes.member == expected.member


@given(st.lists(REGISTERED, max_size=6))
def test_one_pool_has_the_bundles_own_hash(models: list[Registered]) -> None:
    scopes = Scopes.of(BUNDLE, {model.model.sie_id: model for model in models})
    if len(scopes.pool_hashes) == 1:
        assert set(scopes.pool_hashes.values()) == {scopes.whole.value}
    assert (scopes.whole.value is None) == (not scopes.pool_hashes)
