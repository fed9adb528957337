"""A ring hands out its workers in one order, seen from any place, whoever came first (§16.3)."""

from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from sie.domain.ids import PoolName
from sie.domain.worker import WorkerStatus
from sie.gateway.core.pool_ring import (
    Ring,
    Rings,
    Selection,
    Standing,
    folded_lane,
    is_within,
    place_of,
    pool_place,
    selections_of,
    standing_of,
    worker_place,
)

FLEETS = pool_strategies.fleets()
POOLS = st.text("abcdef", min_size=1, max_size=3).map(PoolName)


def standings(fleet: list[WorkerStatus]) -> list[Standing]:
    return [standing_of(status.worker, status.lane, status.url) for status in fleet]


def ring_of(fleet: list[WorkerStatus]) -> Ring:
    ring = Ring()
    for standing in standings(fleet):
        ring.insert(standing)
    return ring


@given(FLEETS, POOLS, st.integers(0, 15))
def test_a_ring_gives_the_nearest_workers_in_order(fleet: list[WorkerStatus], pool: PoolName, count: int) -> None:
    start = pool_place(pool)
    order = sorted((worker_place(status.worker) < start, worker_place(status.worker)) for status in fleet)
    nearest = [worker_place(worker.name) for worker in ring_of(fleet).take(start, count)]
    assert nearest == [place for _, place in order][:count]


@given(FLEETS, POOLS, st.integers(1, 15))
def test_one_is_within_a_share_exactly_where_it_is_taken(fleet: list[WorkerStatus], pool: PoolName, count: int) -> None:
    start, ring = pool_place(pool), ring_of(fleet)
    if count < len(ring):
        taken = ring.take(start, count)
        last = worker_place(taken[-1].name)
        for standing in standings(fleet):
            assert is_within(standing.place, start, last) == (standing.worker in taken)


@given(FLEETS, st.data())
def test_who_left_is_as_who_never_came(fleet: list[WorkerStatus], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(fleet).map(lambda s: s.worker))) if fleet else set()
    rings, stayed = Rings.of(standings(fleet)), [status for status in fleet if status.worker not in gone]
    for standing in standings(fleet):
        if standing.worker.name in gone:
            rings.leave(standing)
    grown = Rings()
    for standing in standings(stayed):
        grown.join(standing)
    for standing in standings(fleet):
        for selection in selections_of(standing.lane):
            assert rings.ring(selection).everyone == grown.ring(selection).everyone
            rings.forget_empty(selection)
            grown.forget_empty(selection)
    assert len(rings) == len(grown) == len({s for one in standings(stayed) for s in selections_of(one.lane)})


@given(FLEETS)
def test_everyone_is_one_tuple_until_somebody_comes(fleet: list[WorkerStatus]) -> None:
    for ring in (ring_of(fleet), Rings.of(standings(fleet)).ring(Selection(PoolName("default")))):
        assert ring.everyone is ring.everyone
        assert len(ring.everyone) == len(ring)


@given(pool_strategies.workers(), st.text(max_size=4), st.text(max_size=4))
def test_places_tell_names_and_kinds_apart_and_lanes_are_in_lower_case(status: WorkerStatus, a: str, b: str) -> None:
    assert (worker_place(a) == worker_place(b)) == (a == b)
    assert place_of("pool", a) != place_of("worker", a)
    folded = folded_lane(status.lane)
    assert folded_lane(folded) == folded
    assert str(folded) == str(status.lane).lower()
