"""A fleet shows each worker's last word, and only for as long as it is fresh."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.worker import HEARTBEAT_STALE_S, WorkerStatus
from sie.gateway.core.fleet import Fleet

LANE = Lane(PoolName("default"), MachineProfile("default"), BundleName("default"))
BEATS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans(), st.floats(0, 60)))


@given(BEATS)
def test_a_fleet_shows_the_last_word_of_each_fresh_worker(beats: list[tuple[str, bool, bool, float]]) -> None:
    fleet, last, now_s = Fleet(), dict[str, tuple[WorkerStatus, float]](), 0.0
    for name, ready, draining, gap_s in beats:
        now_s += gap_s
        status = WorkerStatus(WorkerId(name), LANE, None, ready=ready, draining=draining)
        fleet.observe(status, now_s)
        last[name] = (status, now_s)
    fresh = [status for _, (status, at_s) in sorted(last.items()) if now_s - at_s <= HEARTBEAT_STALE_S]
    assert list(fleet.heard_of(now_s)) == fresh
    assert list(fleet.taking_work(now_s)) == [s for s in fresh if s.ready and not s.draining]
