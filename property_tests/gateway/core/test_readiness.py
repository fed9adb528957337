"""A bundle is acknowledged when somebody can serve it and everybody who could holds our configuration (§6)."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import BundleName, PoolName, WorkerId
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import WorkerStatus
from sie.gateway.core.readiness import readiness_document, readiness_of
from sie.testing import strategies


@st.composite
def fleets(draw: st.DrawFn) -> tuple[RegistrySnapshot, list[WorkerStatus]]:
    """Workers of drawn lanes, many of them with the hash that ours asks for."""
    snapshot = draw(strategies.snapshots)
    pools = [model.pool for model in snapshot.models.values()] or [PoolName("default")]
    bundles = list(snapshot.bundles) or [BundleName("default")]
    workers = []
    for number, status in enumerate(draw(st.lists(strategies.worker_statuses, max_size=5))):
        lane = attrs.evolve(status.lane, pool=draw(st.sampled_from(pools)), bundle=draw(st.sampled_from(bundles)))
        ours = snapshot.scoped_hash(lane.bundle, lane.pool)
        config_hash = draw(st.sampled_from((ours, status.bundle_config_hash)))
        workers.append(attrs.evolve(status, worker=WorkerId(f"w{number}"), lane=lane, bundle_config_hash=config_hash))
    return snapshot, workers


@given(fleets())
def test_each_healthy_worker_of_the_scope_is_acked_or_pending_and_no_other_counts(
    drawn: tuple[RegistrySnapshot, list[WorkerStatus]],
) -> None:
    snapshot, workers = drawn
    for model in snapshot.models.values():
        for bundle in readiness_of(snapshot, model, snapshot.bundles_of(model), workers).bundles:
            eligible = {
                w.worker
                for w in workers
                if w.takes_work and (w.lane.bundle, w.lane.pool) == (bundle.bundle, model.pool)
            }
            assert set(bundle.acked) | set(bundle.pending) == eligible
            assert not set(bundle.acked) & set(bundle.pending)
            holders = {w.worker for w in workers if w.bundle_config_hash == bundle.expected}
            assert set(bundle.acked) <= holders
            assert not set(bundle.pending) & holders or bundle.expected is None
            assert bundle.is_acked == (bool(bundle.acked) and not bundle.pending)


@given(fleets(), st.integers(0, 2**40))
def test_all_are_acked_only_where_there_is_something_to_acknowledge(
    drawn: tuple[RegistrySnapshot, list[WorkerStatus]], epoch: int
) -> None:
    snapshot, workers = drawn
    for model in snapshot.models.values():
        readiness = readiness_of(snapshot, model, snapshot.bundles_of(model), workers)
        told = readiness_document(model.sie_id, epoch, readiness)
        assert told["no_bundles"] == (not readiness.bundles)
        assert told["all_bundles_acked"] == (
            bool(readiness.bundles) and all(bundle.is_acked for bundle in readiness.bundles)
        )
        assert told["config_epoch"] == epoch
