"""A worker reads what gateways tell of their pools, and refuses whatever is none of it (§16.3, wire-facts 4.4)."""

import json

from hypothesis import assume, given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from sie.domain.pool import AssignedWorker, Pool, PoolSpec
from sie.testing import strategies
from sie.wire.pool_listing import ListedPool, read_listing
from sie.wire.pools_api import pool_document
from tests.wire.refusals import problems_of

WORKERS = st.builds(AssignedWorker, strategies.worker_ids, strategies.machine_profiles, strategies.bundle_names)


@given(st.lists(st.tuples(pool_strategies.specs(), st.lists(WORKERS, max_size=3)), max_size=4), st.integers(1, 50))
def test_each_pool_is_read_as_the_gateway_writes_it_in_whatever_parts_it_comes(
    pools: list[tuple[PoolSpec, list[AssignedWorker]]], size: int
) -> None:
    rows = [pool_document(Pool(spec, 0, 0), "active", workers) for spec, workers in pools]
    body = json.dumps({"pools": rows}).encode()
    read = read_listing(body[start : start + size] for start in range(0, len(body), size))
    assert read == tuple(
        ListedPool(
            spec.name,
            spec.queue_pool,
            {str(profile): cap for profile, cap in spec.gpu_caps.items()},
            frozenset(worker.name for worker in workers),
            spec.pinned_models,
        )
        for spec, workers in pools
    )


@given(st.sampled_from(("L4", "l4")), st.sets(st.sampled_from(("queue_pool", "gpu_caps", "pinned_models"))))
def test_what_an_older_gateway_does_not_write_is_what_it_means(name: str, nulls: set[str]) -> None:
    spec: dict[str, object] = {"name": name, "bundle": None, "gpus": {}, **dict.fromkeys(nulls)}
    body = {"pools": [{"spec": spec, "status": {"state": "active", "assigned_workers": [{"name": "W-1"}]}}]}
    assert read_listing([json.dumps(body).encode()]) == (ListedPool("l4", "default", {}, frozenset({"W-1"})),)


@given(strategies.json_values)
def test_workers_that_are_none_are_refused_with_their_pool(workers: object) -> None:
    assume(not isinstance(workers, list) or not all(isinstance(row, dict) and "name" in row for row in workers))
    body = {"pools": [{"spec": {"name": "a"}, "status": {"assigned_workers": workers}}]}
    assert problems_of(read_listing, [json.dumps(body).encode()])


@given(st.binary() | st.builds(json.dumps, strategies.json_values).map(str.encode))
def test_anything_else_is_refused(body: bytes) -> None:
    assert problems_of(read_listing, [body])
