"""A pool comes back from its entry, under its own key alone; nothing that stands in a bucket raises."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from sie.bus.key_value_api import Entry, key_subject
from sie.bus.limits import check_pattern
from sie.domain.ids import PoolName, pool_name
from sie.domain.pool import Pool, PoolSpec
from sie.gateway.core.pool_documents import Nonsense, write_pool_text
from sie.gateway.core.pool_keys import pool_in, pool_of_key, read_entry

NAMES = st.text("abz09_-", min_size=1, max_size=63).filter(lambda name: name != "_default").map(PoolName)
TIMES = st.floats(0, 4_000_000_000)


@given(pool_strategies.specs(), NAMES, TIMES, TIMES)
def test_a_pool_comes_back_from_its_entry(spec: PoolSpec, name: PoolName, created_s: float, renewed_s: float) -> None:
    pool = Pool(attrs.evolve(spec, name=name), created_s, renewed_s)
    entry = Entry(name, 1, write_pool_text(pool))
    assert read_entry(entry) == pool_in(entry) == pool
    check_pattern(key_subject("b", name))
    elsewhere = attrs.evolve(entry, key=f"{name}x")
    assert isinstance(read_entry(elsewhere), Nonsense)
    assert pool_in(elsewhere) is None


@given(st.none() | st.binary(max_size=20), st.text(max_size=5))
def test_what_is_no_pool_is_none_or_nonsense(value: bytes | None, key: str) -> None:
    found = read_entry(Entry(key, 1, value))
    assert isinstance(found, Nonsense) if value is not None else found is None
    assert pool_in(Entry(key, 1, value)) is None


@given(NAMES, st.text(max_size=5))
def test_a_key_is_a_pools_if_it_is_its_name_as_it_is_kept(name: PoolName, text: str) -> None:
    assert pool_of_key(name) == name
    found = pool_of_key(text)
    assert found is None or found == pool_name(text) == text
    assert pool_of_key(f"{name}.") is None
    assert pool_of_key(f" {name}") is None
