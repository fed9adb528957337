"""The names of a pool's objects in Kubernetes: reversible, legal, and no two pools share one (wire-facts 4.4)."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sie.domain.ids import InvalidId, PoolName, pool_name
from sie.kube.core.names import (
    MAX_ENCODED,
    config_map_name,
    decode_pool,
    encode_pool,
    lease_name,
    pool_label,
    pool_labels,
    pool_of_config_map,
    pool_of_lease,
)
from sie.testing.kube.contract import config_map
from sie.testing.kube.resources import CONFIG_MAPS
from sie.testing.kube.shaping import shaped

spelled = st.text("abzAZ059_-", min_size=1, max_size=128).filter(lambda text: text.lower() != "_default")
pools = spelled.map(pool_name)


@given(pools)
@example(PoolName("_" * 128))
@example(PoolName("-" * 128))
@example(PoolName("_-" * 64))
@example(PoolName("a" * 128))
def test_a_pool_comes_back_from_each_of_its_objects(pool: PoolName) -> None:
    assert pool_of_config_map(config_map_name(pool)) == pool
    assert pool_of_lease(lease_name(pool)) == pool
    assert len(encode_pool(pool)) <= MAX_ENCODED


@pytest.mark.parametrize("name_of", [config_map_name, lease_name])
@given(pool=pools)
@example(pool=PoolName("_" * 128))
def test_the_api_server_takes_the_names_and_labels(name_of: Callable[[PoolName], str], pool: PoolName) -> None:
    shaped(CONFIG_MAPS, "default", config_map(name_of(pool), labels=pool_labels(pool)))


@given(st.lists(pools, unique=True, min_size=2, max_size=6))
def test_no_two_pools_share_an_object_or_a_label(some: list[PoolName]) -> None:
    assert len({config_map_name(pool) for pool in some}) == len(some)
    assert len({pool_label(pool) for pool in some}) == len(some)


@given(spelled)
def test_a_plain_name_stands_as_it_is(text: str) -> None:
    pool = pool_name(text)
    if "_" not in pool and not pool.endswith("-"):
        assert config_map_name(pool) == f"sie-pool-{pool}"
        assert lease_name(pool) == f"sie-pool-lease-{pool}"


@given(st.text("abzud05.-_=", max_size=40) | st.text(max_size=20))
def test_what_is_no_encoding_is_nobodys(text: str) -> None:
    """Each pool has one encoding, so nobody can have a second object for a pool."""
    pool = decode_pool(text)
    if pool is not None:
        assert encode_pool(pool) == text
        assert pool_name(pool) == pool


@given(st.text("ab.-", max_size=20))
def test_an_object_without_the_prefix_is_nobodys(text: str) -> None:
    assert pool_of_config_map(f"other-{text}") is None
    assert pool_of_lease(f"sie-pool-{text}") is None


def test_the_reserved_name_is_nobodys() -> None:
    with pytest.raises(InvalidId):
        pool_name("_default")
    assert decode_pool("0.udefault") is None
