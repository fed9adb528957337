"""A pool comes back from its ConfigMap as it went in, whatever else stands there; nothing that is read may raise."""

import json

import attrs
import orjson
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from property_tests.gateway.core import pool_strategies
from sie.domain.ids import PoolName
from sie.domain.pool import Pool, PoolSpec
from sie.gateway.core.pool_documents import (
    Nonsense,
    is_owned,
    lease_beside,
    pool_kept,
    read_stored,
    renewed,
    with_spec,
)
from sie.kube.core.documents import CONFIG_MAPS, LEASES
from sie.kube.core.names import MANAGED_BY, POOL_KEY, config_map_name, pool_labels
from sie.kube.core.values import ConfigMap, Lease, LeaseSpec, Metadata
from sie.testing.kube.resources import CONFIG_MAPS as CONFIG_MAP_RULES
from sie.testing.kube.resources import LEASES as LEASE_RULES
from sie.testing.kube.validating import problems

ACME = PoolName("acme")
TIMES = st.floats(0, 4_000_000_000)
NAMES = ("a", "_", "a-", "x" * 63)
SPECS = st.builds(
    lambda spec, name: attrs.evolve(spec, name=PoolName(name)), pool_strategies.specs(), st.sampled_from(NAMES)
)
WORDS = st.dictionaries(st.sampled_from(("a", "b")), st.text(max_size=3), max_size=2)
JSON: SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


def kept(item: ConfigMap) -> Pool:
    pool = pool_kept(item)
    assert pool is not None
    return pool


def made(spec: PoolSpec, now_s: float) -> ConfigMap:
    """As the server has it, with what it gives every object."""
    item = with_spec(None, spec, now_s)
    return attrs.evolve(item, metadata=attrs.evolve(item.metadata, uid="u1", resource_version="7"))


@given(SPECS, SPECS, TIMES, TIMES, TIMES)
def test_a_pool_comes_back_as_memory_would_keep_it(
    spec: PoolSpec, other: PoolSpec, made_s: float, renewed_s: float, again_s: float
) -> None:
    pool = Pool(spec, made_s, made_s)
    item = made(spec, made_s)
    assert read_stored(item) == pool
    after = renewed(item, renewed_s)
    assert after is not None
    assert read_stored(after) == pool.renewed(renewed_s)
    changed = attrs.evolve(other, name=spec.name)
    again = with_spec(after, changed, again_s)
    assert read_stored(again) == attrs.evolve(pool.renewed(renewed_s).renewed(again_s), spec=changed)


@given(SPECS, TIMES, WORDS, WORDS, WORDS)
def test_a_change_loses_nothing_that_others_put_there(
    spec: PoolSpec, now_s: float, labels: dict[str, str], data: dict[str, str], notes: dict[str, str]
) -> None:
    metadata = Metadata(config_map_name(spec.name), None, "u", "9", labels, notes, 1.0, {"finalizers": []})
    item = with_spec(ConfigMap(metadata, data, {"immutable": False}), spec, now_s)
    assert item.metadata == attrs.evolve(metadata, labels={**labels, **pool_labels(spec.name)})
    assert {key: item.data[key] for key in data} == data
    assert item.rest == {"immutable": False}


@given(SPECS, TIMES)
def test_a_server_takes_both_objects_and_they_come_back_from_it(spec: PoolSpec, now_s: float) -> None:
    item = made(spec, now_s)
    lease = lease_beside(item, kept(item), None)
    assert lease is not None
    for written, rules in ((CONFIG_MAPS.write(item), CONFIG_MAP_RULES), (LEASES.write(lease), LEASE_RULES)):
        assert problems(rules, orjson.loads(orjson.dumps(written))) == []
    assert CONFIG_MAPS.read(CONFIG_MAPS.write(item)) == item
    assert is_owned(LEASES.read(LEASES.write(lease)), item)


@given(st.text(max_size=30) | JSON.map(json.dumps))
def test_what_is_no_pool_is_told_and_never_raises(text: str) -> None:
    item = ConfigMap(Metadata(config_map_name(ACME), labels=pool_labels(ACME)), {POOL_KEY: text})
    assert isinstance(read_stored(item), Nonsense)
    assert renewed(item, 1.0) is None


@given(SPECS, TIMES, st.sampled_from(("spec", "status")), st.text(max_size=8), JSON)
def test_one_field_changed_by_hand_makes_a_pool_that_may_be_or_none(
    spec: PoolSpec, now_s: float, part: str, field: str, value: object
) -> None:
    item = made(spec, now_s)
    document = orjson.loads(item.data[POOL_KEY])
    fields = sorted(document[part])
    document[part][fields[len(field) % len(fields)]] = value
    try:
        text = orjson.dumps(document).decode()
    except TypeError:
        return  # no JSON that could stand there
    found = read_stored(attrs.evolve(item, data={POOL_KEY: text}))
    if isinstance(found, Pool):
        assert found.spec.name == spec.name
        assert read_stored(with_spec(None, found.spec, found.created_s)) == Pool(
            found.spec, found.created_s, found.created_s
        )


@given(SPECS, TIMES)
def test_another_objects_document_or_one_without_the_label_is_no_pool(spec: PoolSpec, now_s: float) -> None:
    item = made(spec, now_s)
    elsewhere = attrs.evolve(item.metadata, name="sie-pool-elsewhere")
    unlabelled = {key: value for key, value in item.metadata.labels.items() if key != MANAGED_BY}
    for metadata in (elsewhere, attrs.evolve(item.metadata, labels=unlabelled)):
        assert isinstance(read_stored(attrs.evolve(item, metadata=metadata)), Nonsense)


@given(SPECS, TIMES, TIMES)
def test_a_lease_says_the_latest_renewal_of_its_own_pool(spec: PoolSpec, now_s: float, said_s: float) -> None:
    item = made(spec, now_s)
    lease = lease_beside(item, kept(item), None)
    assert lease is not None
    assert lease.spec == LeaseSpec(spec.name, spec.ttl_s, now_s, now_s)
    said = attrs.evolve(lease, spec=attrs.evolve(lease.spec, renew_unix_s=said_s))
    assert (lease_beside(item, kept(item), said) is None) == (said_s > now_s)
    anew = attrs.evolve(item, metadata=attrs.evolve(item.metadata, uid="u2"))
    taken = lease_beside(anew, kept(anew), said)
    assert isinstance(taken, Lease)
    assert is_owned(taken, anew)
    assert not is_owned(taken, item)
