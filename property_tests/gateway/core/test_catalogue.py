"""What the gateway shows of models and workers is JSON, complete, and never says loaded without a worker that is."""

import json
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.bundle import Bundle
from sie.domain.ids import DEFAULT_PROFILE, BundleName, MachineProfile, ModelId, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.model import Model, Profile
from sie.domain.registry import RegistrySnapshot
from sie.domain.worker import ModelState, ModelStateName, WorkerStatus
from sie.gateway.core.catalogue import Traffic, health, model_infos
from sie.gateway.core.replica import Replica

LANE = Lane(PoolName("default"), MachineProfile("default"), BundleName("default"))
SNAPSHOT = RegistrySnapshot.of(
    [Bundle(BundleName("default"), ("acme.m",))], [Model(ModelId("acme/m"), {DEFAULT_PROFILE: Profile("acme.m:C")})]
)
OURS = SNAPSHOT.scoped_hash(LANE.bundle, LANE.pool)
STATES: tuple[ModelStateName, ...] = get_args(ModelStateName)


@st.composite
def fleets(draw: st.DrawFn) -> list[WorkerStatus]:
    rows = draw(st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from(STATES)), max_size=4))
    return [
        WorkerStatus(
            WorkerId(f"w{index}"),
            LANE,
            OURS if ours else "0" * 64,
            ready=ready,
            models=(ModelState("acme/m", state, "busy", "X", "why"),),
        )
        for index, (ready, ours, state) in enumerate(rows)
    ]


@given(fleets())
def test_loaded_means_that_a_worker_with_our_configuration_has_it(fleet: list[WorkerStatus]) -> None:
    (info,) = model_infos(SNAPSHOT, fleet)
    states = [w.models[0].state for w in fleet if w.ready and w.bundle_config_hash == OURS]
    assert info["loaded"] == ("loaded" in states)
    assert info["state"] in (states or ["available"])
    assert (info["last_error"] is not None) == ("failed" in states)
    json.dumps(info)


@given(fleets(), st.integers(0, 10))
def test_health_counts_the_workers_that_take_work(fleet: list[WorkerStatus], in_flight: int) -> None:
    shown = health(fleet, Replica(), Traffic(in_flight), frozenset({WorkerId("w0")}))
    ready = sum(worker.ready for worker in fleet)
    assert shown["status"] == ("healthy" if ready else "degraded")
    told = json.loads(json.dumps(shown))
    assert told["cluster"]["worker_count"] == ready
    assert [row["saturated"] for row in told["workers"]] == [w.worker == "w0" for w in fleet]
    assert told["bootstrap"] == {"done": False, "attempts": 0, "degraded": False}
    assert sum(row["worker_count"] for row in told["models"]) == sum(bool(w.loaded) for w in fleet if w.ready)
    assert told["requests_in_flight"] == in_flight
