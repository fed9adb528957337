"""A spec is read as it was written, and a body that is none is refused with its place (wire-facts 4.4)."""

import json

from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from sie.domain.pool import AssignedWorker, Pool, PoolSpec, PoolState
from sie.testing import strategies
from sie.wire.pools_api import pool_document, read_pool, spec_document
from tests.wire.refusals import problems_of, wrong

WORKERS = st.builds(
    AssignedWorker,
    strategies.worker_ids,
    strategies.machine_profiles,
    strategies.bundle_names,
    st.none() | st.just("http://w"),
)
STATES: st.SearchStrategy[PoolState] = st.sampled_from(("pending", "active", "expired"))


@given(pool_strategies.specs())
def test_a_spec_is_read_as_written(spec: PoolSpec) -> None:
    assert read_pool(json.loads(json.dumps(spec_document(spec)))) == spec


@given(pool_strategies.specs(), st.sets(st.sampled_from(("gpus", "gpu_caps", "bundle", "queue_pool", "ttl_seconds"))))
def test_null_is_what_is_not_there(spec: PoolSpec, keys: set[str]) -> None:
    document = spec_document(spec)
    absent = {key: value for key, value in document.items() if key not in keys}
    assert read_pool({**absent, **dict.fromkeys(keys)}) == read_pool(absent)


@given(pool_strategies.specs(), st.sampled_from(("gpu_cap", "gpu", "Name", "ttl", "status")))
def test_a_key_that_is_not_known_is_told(spec: PoolSpec, key: str) -> None:
    (problem,) = problems_of(read_pool, {**spec_document(spec), key: 1})
    assert (problem.loc, problem.message) == ((key,), "unknown field")


@given(pool_strategies.specs(), st.data())
def test_a_value_of_another_type_is_refused_where_it_stands(spec: PoolSpec, data: st.DataObject) -> None:
    document = spec_document(spec)
    key = data.draw(st.sampled_from(sorted(document)))
    problems = problems_of(read_pool, {**document, key: wrong(document[key])})
    assert problems
    assert all(problem.loc[:1] in ((key,), ()) for problem in problems)


@given(strategies.json_values)
def test_any_other_value_is_refused(value: object) -> None:
    assert problems_of(read_pool, value)


@given(pool_strategies.specs(), STATES, st.lists(WORKERS, max_size=3), st.floats(0, 10**10), st.floats(0, 10**10))
def test_a_pool_is_told_with_all_that_clients_read(
    spec: PoolSpec, state: PoolState, workers: list[AssignedWorker], created_s: float, renewed_s: float
) -> None:
    told = json.loads(json.dumps(pool_document(Pool(spec, created_s, renewed_s), state, workers)))
    assert told["name"] == told["spec"]["name"] == spec.name
    status = told["status"]
    assert (status["state"], status["created_at"], status["last_renewed"]) == (state, created_s, renewed_s)
    rows = [(row["name"], row["url"], row["gpu"], row["bundle"]) for row in status["assigned_workers"]]
    assert rows == [(w.name, w.url or "", w.profile, w.bundle) for w in workers]
