"""What a worker tells whoever asks it agrees with its heartbeat: it has a reason not to take work when it does not."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import WorkerId
from sie.domain.lane import Lane
from sie.domain.registry import RegistrySnapshot
from sie.domain.subjects import lane_consumer
from sie.testing import strategies as sie_st
from sie.wire.heartbeat import decode_heartbeat, encode_heartbeat
from sie.wire.ipc import Finished, Hello, ModelUpdate
from sie.worker.core.gate import Gate
from sie.worker.core.held_work import HeldWork
from sie.worker.core.report import Server, backend_of, frame_of, gate_of, unready, work_of
from sie.worker.core.state import BackendLife, Died, LoadEnded, WorkerState

SERVER = Server("1.2", 7, 1.5)
events = st.lists(
    st.builds(Hello, device=st.just("cpu"), pid=st.just(1), number=st.integers(0, 2))
    | st.builds(Died, st.sampled_from(("it fell", "it slept")), st.integers(0, 2))
)


@given(sie_st.worker_ids, sie_st.lanes, sie_st.snapshots, *[st.booleans()] * 7)
def test_a_worker_has_a_reason_not_to_take_work_exactly_when_its_heartbeat_says_so(
    worker: WorkerId,
    lane: Lane,
    snapshot: RegistrySnapshot,
    connected: bool,
    applied: bool,
    consumer: bool,
    greeted: bool,
    preloads: bool,
    loaded: bool,
    draining: bool,
) -> None:
    state = WorkerState(worker, lane, "cpu", draining=draining)
    if applied:
        state.install(snapshot)
    state.consumers = {lane_consumer(lane)} if consumer else set()
    if greeted:
        state.receive(Hello(device="cpu", pid=1), now_s=0)
    if preloads:
        state.models.preload(["acme/a"])
    if loaded:
        state.receive(LoadEnded("acme/a", Finished(id=1)), now_s=0)
    status = state.status(connected=connected, pending_items=0, now_s=0)
    assert (unready(state, connected=connected) is None) == status.takes_work


@given(sie_st.worker_ids, sie_st.lanes, sie_st.snapshots, st.lists(st.sampled_from(("acme/a", "acme/b"))))
def test_a_frame_is_read_as_the_heartbeat_is(
    worker: WorkerId, lane: Lane, snapshot: RegistrySnapshot, waiting: list[str]
) -> None:
    state = WorkerState(worker, lane, "cpu")
    state.install(snapshot)
    status = state.status(connected=True, pending_items=len(waiting), now_s=0)
    frame = frame_of(status, waiting, SERVER)
    told = decode_heartbeat(json.dumps(frame).encode())
    assert told == decode_heartbeat(encode_heartbeat(status)) or told.pending_items < len(waiting)
    rows = frame["models"]
    assert isinstance(rows, list)
    served = {model.serving_id for model in status.models}
    assert {row["name"]: row["queue_depth"] for row in rows} == {name: waiting.count(name) for name in served}
    assert frame["server"] == {"version": "1.2", "uptime_seconds": 1.5, "pid": 7}


@given(events)
def test_the_last_failure_and_the_number_of_deaths_are_kept(history: list[Hello | Died]) -> None:
    life = BackendLife()
    for event in history:
        life.receive(event)
    life.receive(ModelUpdate(serving_id="acme/a", state="loading"))
    deaths = [event.reason for event in history if isinstance(event, Died)]
    assert (life.deaths, life.last_failure) == (len(deaths), deaths[-1] if deaths else None)
    last = {event.number: event for event in history}
    assert life.up == {number for number, event in last.items() if isinstance(event, Hello)}


@given(sie_st.worker_ids, sie_st.lanes, st.floats(0, 1e6), st.floats(0, 100))
def test_the_rest_of_the_status_is_json(worker: WorkerId, lane: Lane, read_s: float, later_s: float) -> None:
    gate = Gate(worker, lane, is_polled=True)
    assert gate_of(gate, now_s=read_s)["read_s_ago"] is None
    gate.receive((), now_s=read_s)
    told = gate_of(gate, now_s=read_s + later_s)
    assert (told["pools"], told["pinned"]) == ([], [])
    assert json.loads(json.dumps(told)) == told
    for part in (work_of(HeldWork()), backend_of(WorkerState(worker, lane, "cpu"))):
        assert json.loads(json.dumps(part)) == part
