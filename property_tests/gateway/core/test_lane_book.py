"""The book says of every lane who is there, as a walk through the whole fleet would."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from sie.domain.ids import BundleName, MachineProfile, PoolName
from sie.domain.worker import WorkerStatus
from sie.gateway.core.lane_book import LaneBook, Wanted

HASHES = st.sampled_from((None, "one", "two"))


@st.composite
def fleets(draw: st.DrawFn) -> tuple[WorkerStatus, ...]:
    return tuple(attrs.evolve(w, bundle_config_hash=draw(HASHES)) for w in draw(pool_strategies.fleets()))


WANTED = st.builds(
    Wanted,
    st.sampled_from(pool_strategies.QUEUE_POOLS).map(PoolName),
    st.sampled_from(pool_strategies.BUNDLES).map(BundleName),
    st.none() | st.sampled_from(pool_strategies.PROFILES).map(MachineProfile),
    HASHES,
)


def answers(status: WorkerStatus, wanted: Wanted) -> bool:
    lane = status.lane
    return (
        (lane.pool.lower(), lane.bundle.lower()) == (wanted.pool, wanted.bundle)
        and wanted.profile in (None, lane.machine_profile.lower())
        and wanted.config_hash in (None, status.bundle_config_hash)
    )


@given(fleets(), st.sets(st.integers(0, 11).map("w{}".format)), WANTED)
def test_it_tells_who_a_walk_would_find(fleet: tuple[WorkerStatus, ...], full: set[str], wanted: Wanted) -> None:
    book = LaneBook.of(fleet, [w.worker for w in fleet if w.worker in full])
    there = [status for status in fleet if answers(status, wanted)]
    assert [(w.worker, w.lane) for w in book.workers(wanted)] == [(s.worker, s.lane) for s in there]
    free = [s.worker for s in there if s.worker not in full]
    assert [w.worker for w in book.best(wanted)] == (free or [s.worker for s in there])
