"""The page says of each worker and each model what its heartbeat said, in words (§14)."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.registry import ModelRegistry, RegistrySnapshot
from sie.domain.worker import WorkerStatus
from sie.gateway.core.catalogue import Traffic
from sie.gateway.core.page_view import MODEL_HEADS, WORKER_HEADS, page_view
from sie.gateway.core.replica import Replica
from sie.testing import strategies


@given(strategies.snapshots, st.lists(strategies.worker_statuses, max_size=4), st.booleans())
def test_every_worker_and_model_has_its_row_and_its_state_in_words(
    snapshot: RegistrySnapshot, workers: list[WorkerStatus], full: bool
) -> None:
    saturated = frozenset(worker.worker for worker in workers if full)
    view = page_view("now", workers, Replica(ModelRegistry(snapshot)), Traffic(1, 0.5), saturated)
    assert [row[0][0] for row in view.workers] == [worker.worker for worker in workers]
    assert all(len(row) == len(WORKER_HEADS) for row in view.workers)
    for worker, row in zip(workers, view.workers, strict=True):
        assert row[5][0].startswith("healthy") == worker.takes_work
        assert ("full" in row[5][0]) == (full and worker.takes_work)
        ours = snapshot.scoped_hash(worker.lane.bundle, worker.lane.pool)
        assert (row[6][0] == "current") == (ours is not None and worker.bundle_config_hash == ours)
    told = {model.serving_id for worker in workers for model in worker.models}
    assert [row[0][0] for row in view.models] == sorted(told)
    assert all(len(row) == len(MODEL_HEADS) for row in view.models)
    assert view.status.startswith("Healthy") == any(worker.takes_work for worker in workers)
    assert dict(view.figures)["In flight"] == "1"
