"""An epoch never stands in a replica without the snapshot that it belongs to, and counters only tell."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.convergence import Accepted, Reading
from sie.domain.registry import RegistrySnapshot
from sie.gateway.core.replica import DEGRADED_ATTEMPTS, DEGRADED_S, Bootstrap, Replica
from sie.testing.strategies import models

snapshots = st.lists(models, max_size=2).map(lambda found: RegistrySnapshot.of((), found))


@given(st.lists(st.tuples(snapshots, st.integers(0, 9)), min_size=1, max_size=5))
def test_a_delta_brings_epoch_and_snapshot_together(steps: list[tuple[RegistrySnapshot, int]]) -> None:
    replica = Replica()
    for snapshot, epoch in steps:
        replica.take(Accepted(snapshot, epoch))
        assert replica.standing.snapshot is snapshot
        assert replica.reading.epoch == epoch
        if snapshot.models:
            assert replica.reading.bundle_config_hashes_hash == snapshot.bundle_config_hashes_hash


@given(snapshots, snapshots, st.integers(0, 9))
def test_a_part_of_an_export_moves_nothing_that_the_poll_compares(
    whole: RegistrySnapshot, part: RegistrySnapshot, epoch: int
) -> None:
    replica = Replica()
    replica.adopt(whole, Reading(epoch, "a", "b"), epoch)
    replica.install_partly(part)
    assert replica.reading == Reading(epoch, "a", "b")
    assert replica.registry.snapshot is part


@given(st.lists(st.one_of(st.none(), st.floats(0, 400)), max_size=20))
def test_degraded_is_told_after_its_bounds_and_ends_with_a_success(failures: list[float | None]) -> None:
    bootstrap, degraded = Bootstrap(), False
    for tries, for_s in enumerate(failures, start=1):
        if for_s is None:
            bootstrap.succeeded()
            degraded = False
        else:
            bootstrap.failed(for_s)
            degraded = degraded or tries >= DEGRADED_ATTEMPTS or for_s >= DEGRADED_S
        assert bootstrap.degraded == degraded
