"""A worker is ready exactly when all that it takes is there, and its heartbeat says so to any gateway."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.ids import BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.registry import RegistrySnapshot
from sie.domain.subjects import lane_consumer
from sie.testing import strategies as sie_st
from sie.wire.heartbeat import decode_heartbeat, encode_heartbeat
from sie.wire.ipc import Failed, Finished, Hello
from sie.worker.core.state import Died, LoadEnded, WorkerState


@given(sie_st.worker_ids, sie_st.lanes, sie_st.snapshots, *[st.booleans()] * 6)
def test_a_worker_is_ready_when_bus_export_consumer_backend_and_preloads_are_there(
    worker: WorkerId,
    lane: Lane,
    snapshot: RegistrySnapshot,
    connected: bool,
    applied: bool,
    consumer: bool,
    greeted: bool,
    preloads: bool,
    loaded: bool,
) -> None:
    state = WorkerState(worker, lane, "cpu")
    if applied:
        state.install(snapshot)
    state.consumers = {lane_consumer(lane)} if consumer else set()
    if greeted:
        state.receive(Hello(device="cpu", pid=1), now_s=0)
    if preloads:
        state.models.preload(["acme/a"])
    if loaded:
        state.receive(LoadEnded("acme/a", Finished(id=1)), now_s=0)
    status = state.status(connected=connected, pending_items=3, now_s=5.0)
    assert status.ready == (connected and applied and consumer and greeted and (loaded or not preloads))
    assert status.bundle_config_hash == (snapshot.scoped_hash(lane.bundle, lane.pool) if applied else None)
    heard = decode_heartbeat(encode_heartbeat(status))
    assert (heard.worker, heard.lane, heard.ready, heard.models) == (worker, lane, status.ready, status.models)
    assert heard.takes_work == status.ready


@given(st.lists(st.sampled_from(("load", "fail", "die")), max_size=10))
def test_a_death_alone_does_not_cost_readiness_and_a_failed_return_does(events: list[str]) -> None:
    lane = Lane(PoolName("p"), MachineProfile("m"), BundleName("b"))
    state = WorkerState(WorkerId("w"), lane, "cpu", has_backend=True, consumers={lane_consumer(lane)})
    state.install(RegistrySnapshot.empty())
    state.models.preload(["acme/a"])
    ready = False
    for event in events:
        match event:
            case "load":
                state.receive(LoadEnded("acme/a", Finished(id=1)), now_s=0)
                ready = True
            case "fail" if not ready or not state.models.loaded:
                state.receive(LoadEnded("acme/a", Failed(id=1, error_code="x", error="no")), now_s=0)
                ready = False
            case "die":
                state.receive(Died(), now_s=0)
            case _:
                continue
        assert state.is_ready == ready
