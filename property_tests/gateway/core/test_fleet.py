"""A fleet shows each worker's last word, and only for as long as it is fresh (§8, wire-facts 2.5)."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.worker import HEARTBEAT_STALE_S, WorkerStatus
from sie.gateway.core.fleet import FORGET_S, Fleet
from sie.gateway.core.lane_book import Wanted

LANE = Lane(PoolName("default"), MachineProfile("default"), BundleName("default"))
BEATS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans(), st.floats(0, 60)))


def status_of(name: str, *, ready: bool = True, draining: bool = False, load: int = 0) -> WorkerStatus:
    return WorkerStatus(
        WorkerId(name), LANE, None, ready=ready, draining=draining, pending_items=load, max_batch_requests=100
    )


@given(BEATS)
def test_a_fleet_shows_the_last_word_of_each_fresh_worker(beats: list[tuple[str, bool, bool, float]]) -> None:
    fleet, last, now_s = Fleet(), dict[str, tuple[WorkerStatus, float]](), 0.0
    for name, ready, draining, gap_s in beats:
        now_s += gap_s
        status = status_of(name, ready=ready, draining=draining)
        fleet.observe(status, now_s)
        last[name] = (status, now_s)
    fresh = [status for _, (status, at_s) in sorted(last.items()) if now_s - at_s <= HEARTBEAT_STALE_S]
    assert list(fleet.heard_of(now_s)) == fresh
    assert list(fleet.taking_work(now_s)) == [s for s in fresh if s.ready and not s.draining]


@given(BEATS, st.lists(st.floats(0, 20), min_size=1))
def test_the_book_has_whoever_takes_work_at_every_moment(
    beats: list[tuple[str, bool, bool, float]], looks: list[float]
) -> None:
    fleet, now_s = Fleet(), 0.0
    wanted = Wanted(LANE.pool, LANE.bundle, None, None)
    for name, ready, draining, gap_s in beats:
        now_s += gap_s
        fleet.observe(status_of(name, ready=ready, draining=draining), now_s)
        assert [w.worker for w in fleet.book(now_s).workers(wanted)] == [s.worker for s in fleet.taking_work(now_s)]
    for gap_s in looks:
        now_s += gap_s
        assert [w.worker for w in fleet.book(now_s).workers(wanted)] == [s.worker for s in fleet.taking_work(now_s)]


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 40)), max_size=60))
def test_renaming_costs_the_place_of_the_one_silent_longest(beats: list[tuple[int, float]]) -> None:
    fleet, last, now_s = Fleet(max_workers=5), dict[str, float](), 0.0
    for number, gap_s in beats:
        now_s += gap_s
        name = f"w{number:02}"
        last.pop(name, None)
        last[name] = now_s
        fleet.observe(status_of(name), now_s)
    newest = sorted(list(last)[-5:])
    shown = [s.worker for s in fleet.heard_of(now_s)]
    assert shown == [name for name in newest if now_s - last[name] <= HEARTBEAT_STALE_S]
    assert all(now_s - last[name] <= FORGET_S for name in shown)


@given(st.lists(st.integers(0, 120), min_size=1))
def test_fullness_is_kept_between_the_marks_from_beat_to_beat(loads: list[int]) -> None:
    fleet, expected = Fleet(), False
    for at, load in enumerate(loads):
        fleet.observe(status_of("w", load=load), float(at))
        expected = load >= 90 or (expected and load > 70)
        assert fleet.is_saturated(WorkerId("w")) == expected
    assert not fleet.is_saturated(WorkerId("other"))
