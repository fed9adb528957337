"""A worker's stream is swept only when nobody of its name was heard of, twice in a row; no other stream ever is."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import PoolName, WorkerId
from sie.domain.subjects import is_worker_stream, work_stream, worker_stream
from sie.gateway.core.leftovers import Leftovers
from sie.testing import strategies as sie_st

NAMES = ("w1", "w2", "w.3")
looks = st.lists(st.tuples(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES))), max_size=8)


@given(looks)
def test_left_over_is_what_was_there_unclaimed_at_two_looks_in_a_row(
    history: list[tuple[set[str], set[str]]],
) -> None:
    leftovers, before = Leftovers(), set[str]()
    for streams, heard in history:
        there = [worker_stream(WorkerId(name)) for name in streams]
        found = leftovers.look(["KV_pools", *there], map(WorkerId, heard))
        unclaimed = {worker_stream(WorkerId(name)) for name in streams - heard}
        assert set(found) == unclaimed & before
        before = unclaimed


@given(sie_st.pool_names, sie_st.worker_ids)
def test_only_workers_own_streams_are_ever_swept(pool: PoolName, worker: WorkerId) -> None:
    assert is_worker_stream(worker_stream(worker))
    leftovers = Leftovers()
    streams = [work_stream(pool), "DEAD_LETTERS", "KV_WORK_WORKER"]
    assert leftovers.look(streams, ()) == leftovers.look(streams, ()) == ()
