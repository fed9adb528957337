"""What is listed can be asked for by its name, and every bundle counts the workers that are heard of (§5)."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import WorkerStatus
from sie.gateway.core.configs import (
    asks_for_status,
    bundle_document,
    bundle_rows,
    find_named,
    model_document,
    model_rows,
)
from sie.testing import strategies


@given(strategies.snapshots)
def test_each_listed_name_has_a_document_and_a_status(snapshot: RegistrySnapshot) -> None:
    rows = model_rows(snapshot)
    assert [row["model_id"] for row in rows] == sorted(str(row["model_id"]) for row in rows)
    for row in rows:
        named = find_named(snapshot, str(row["model_id"]))
        assert named is not None
        document = model_document(named)
        assert (document["sie_id"], document["bundles"]) == (row["model_id"], [str(b) for b in named.bundles])
        assert named.bundles
        assert asks_for_status(snapshot, f"{row['model_id']}/status") == named
    json.dumps(rows)


@given(strategies.snapshots, strategies.model_ids)
def test_a_path_without_a_known_model_before_status_asks_for_no_status(snapshot: RegistrySnapshot, name: str) -> None:
    assert asks_for_status(snapshot, name) is None
    assert (asks_for_status(snapshot, f"{name}/status") is None) == (find_named(snapshot, name) is None)


@given(strategies.snapshots)
def test_a_model_that_no_bundle_runs_is_known_all_the_same(snapshot: RegistrySnapshot) -> None:
    for model in snapshot.models.values():
        named = find_named(snapshot, model.sie_id)
        assert named is not None
        assert (named.model, named.bundles) == (model, snapshot.bundles_of(model))


@given(strategies.snapshots, st.lists(strategies.worker_statuses, max_size=5))
def test_bundles_come_best_first_with_their_workers(snapshot: RegistrySnapshot, workers: list[WorkerStatus]) -> None:
    rows = bundle_rows(snapshot, workers)
    assert [row["bundle_id"] for row in rows] == list(snapshot.bundles)
    for row, bundle in zip(rows, snapshot.bundles.values(), strict=True):
        assert row["connected_workers"] == sum(w.lane.bundle == bundle.name for w in workers)
        assert bundle_document(bundle)["adapters"] == list(bundle.adapters)
