"""What is told of lanes follows from pools and workers alone, and tells zero of whatever is over (§15, §16.3)."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from property_tests.gateway.core import pool_strategies
from property_tests.gateway.core.test_demand import EVERY
from sie.domain.ids import BundleName, MachineProfile, PoolName, WorkerId
from sie.domain.lane import Lane
from sie.domain.pool import PinnedModel, Pool, PoolSpec
from sie.domain.worker import ModelState, WorkerStatus
from sie.gateway.core.capacity import REMEMBER_GONE_S, Moment, Pin, Pins, capacity_of
from sie.gateway.core.demand import Demand
from sie.gateway.core.pool_view import PoolView

NOW = Moment(50.0, 1_000.0)
MODELS = ("acme/a", "acme/b")


@st.composite
def fleets(draw: st.DrawFn) -> tuple[WorkerStatus, ...]:
    there = (w for w in draw(pool_strategies.fleets()) if w.takes_work)
    return tuple(attrs.evolve(w, gpu_count=draw(st.integers(0, 4))) for w in there)


def view_of(specs: list[PoolSpec], fleet: tuple[WorkerStatus, ...], renewed_s: float = NOW.unix_s) -> PoolView:
    view = PoolView.with_protected([PoolName("static")], 0.0)
    for spec in specs:
        view.kept(Pool(spec, renewed_s, renewed_s))
    view.know(fleet)
    return view


def by_name(fleet: tuple[WorkerStatus, ...]) -> dict[WorkerId, WorkerStatus]:
    return {status.worker: status for status in fleet}


def folded(lane: Lane) -> Lane:
    return Lane(lane.pool, MachineProfile(lane.machine_profile.lower()), BundleName(lane.bundle.lower()))


@given(
    st.lists(st.sampled_from(EVERY), unique=True),
    pool_strategies.pools_of_specs(),
    fleets(),
    st.sampled_from([0.0, 990.0]),
)
def test_each_deployed_lane_has_its_floor_and_what_leases_hold(
    lanes: list[Lane], specs: list[PoolSpec], fleet: tuple[WorkerStatus, ...], renewed_s: float
) -> None:
    demand = Demand.over(lanes)
    view = view_of(specs, fleet, renewed_s)
    told = capacity_of(view, demand, by_name(fleet), NOW)
    live = [spec for spec in specs if renewed_s + spec.ttl_s > NOW.unix_s]
    held = {w.name for spec in live for w in view.assignment(spec.name).workers}
    for lane in lanes:
        floors = [spec.minimum_worker_count for spec in live if lane in demand.lanes_of(spec)]
        assert told.warm_floor[lane] == max(floors, default=0)
        ours = [w.gpu_count for w in fleet if w.worker in held and folded(w.lane) == lane]
        assert told.lease_gpus[lane] == sum(ours)
    assert set(told.warm_floor) == set(told.lease_gpus) == set(told.pending) == set(lanes)


@given(pool_strategies.pools_of_specs(), fleets(), st.data())
def test_a_pin_is_true_where_a_worker_of_its_pool_has_the_model(
    specs: list[PoolSpec], fleet: tuple[WorkerStatus, ...], data: st.DataObject
) -> None:
    models = st.lists(st.sampled_from(MODELS), unique=True)
    pinning = [attrs.evolve(spec, pinned_models=tuple(map(PinnedModel, data.draw(models)))) for spec in specs]
    loaded = [attrs.evolve(w, models=tuple(ModelState(m, "loaded") for m in data.draw(models))) for w in fleet]
    view = view_of(pinning, tuple(loaded))
    told = Pins().after(view, by_name(tuple(loaded)), 0.0).loaded
    assert told == {
        Pin(spec.name, model): any(
            model in w.loaded for w in loaded if w.worker in {a.name for a in view.assignment(spec.name).workers}
        )
        for spec in pinning
        for model in spec.pinned_models
    }


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 2 * REMEMBER_GONE_S)), min_size=1, max_size=8))
def test_a_pin_that_goes_is_told_as_not_loaded_for_a_while(steps: list[tuple[bool, float]]) -> None:
    model, name = PinnedModel("acme/a"), PoolName("acme")
    spec = PoolSpec(name, pinned_models=(model,))
    fleet = (WorkerStatus(WorkerId("w"), EVERY[0], None, ready=True, models=(ModelState(model, "loaded"),)),)
    pins, now_s, last_s = Pins(), 0.0, -float("inf")
    for is_pinned, gap_s in steps:
        now_s += gap_s
        view = view_of([spec] if is_pinned else [], fleet)
        pins = pins.after(view, by_name(fleet), now_s)
        last_s = now_s if is_pinned else last_s
        is_told = now_s - last_s < REMEMBER_GONE_S
        assert pins.loaded == ({Pin(name, model): is_pinned} if is_told else {})
