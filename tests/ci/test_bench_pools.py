"""The pure parts of `ci/bench pools`: what a storm is made of, how it is kept, which gaps count, and that each measure
runs on its facts.
"""

from random import Random

from ci.lib.bench_pools_assign import assign_figures
from ci.lib.bench_pools_capacity import capacity_figures
from ci.lib.bench_pools_changes import EVENTS, first_pools, last_of, pools_after, storm
from ci.lib.bench_pools_cluster import NAMESPACE, apply, document_after, document_of
from ci.lib.bench_pools_facts import CAP, CAPPED, EIGHT_LANES, NOW_S, UNCAPPED, WORKERS, view_of, workers
from ci.lib.bench_pools_request import request_figures
from ci.lib.bench_pools_storm import figures
from ci.lib.bench_pools_ticking import GAP_LIMIT_MS, Gap, Span, span
from sie.gateway.core.pool_documents import read_stored
from sie.kube.core.documents import CONFIG_MAPS as KIND
from sie.testing.kube.model import KubeModel, Scope
from sie.testing.kube.resources import CONFIG_MAPS
from sie.testing.kube.selecting import Selector


def test_each_change_of_a_storm_is_an_event_and_all_of_them_leave_the_pools_that_are_expected() -> None:
    model = KubeModel(lambda: NOW_S, Random(0))
    for pool in first_pools():
        model.create(CONFIG_MAPS, NAMESPACE, document_of(pool))
    before = model.revision
    for change in storm(0):
        apply(model, change.name, document_after(change))
    scope = Scope(CONFIG_MAPS, NAMESPACE, Selector())
    assert len(model.since(scope, before)) == EVENTS
    kept = [read_stored(KIND.read(document)) for document in model.listed(scope)]
    assert sorted(kept, key=repr) == sorted(pools_after(1).values(), key=repr)


def test_a_storm_ends_with_a_pool_of_its_own() -> None:
    *_, last = storm(4)
    assert last.name == last_of(4)
    assert last.name not in pools_after(4)


def test_capped_pools_hold_no_more_than_their_cap_and_open_ones_share_their_lane() -> None:
    view = view_of(EIGHT_LANES, workers(EIGHT_LANES))
    dynamic = [pool.spec for pool in view if not pool.is_protected]
    capped = [view.assignment(spec.name) for spec in dynamic if spec.gpu_caps]
    shared = {id(view.shares(spec.name)[0]) for spec in dynamic if not spec.gpu_caps}
    assert (len(capped), len(dynamic)) == (CAPPED, CAPPED + UNCAPPED)
    assert {len(assignment) for assignment in capped} == set(range(1, CAP + 1))
    assert len(shared) == len(EIGHT_LANES.lanes)
    assert len(view.assignment(dynamic[-1].name)) == WORKERS // len(EIGHT_LANES.lanes)


def test_a_gap_that_lies_in_a_span_even_in_part_counts() -> None:
    over_s = (GAP_LIMIT_MS + 1) / 1000
    gaps = [Gap(9.9, 9.0, 1.0), Gap(10.1, 0.2, 0.011), Gap(11.01, over_s, 0.001), Gap(12.0, 0.5, 1.0)]
    taken = span(10.0, 11.0, gaps)
    assert (taken.took_s, taken.over, taken.longest_ms) == (1.0, 2, 200.0)
    assert (round(taken.cpu_s, 6), taken.longest_cpu_ms) == (0.012, 11.0)


def test_of_several_storms_the_best_time_and_the_best_gap_count() -> None:
    spans = [Span(3.0, 0.5, 5.0, 4.0, 0), Span(1.0, 0.5, 30.0, 4.0, 1)]
    assert [(f.name, f.value, f.holds) for f in figures("storm", spans, {})] == [
        ("storm", 1.0, True),
        ("storm_longest_gap", 5.0, True),
    ]


def test_each_measure_in_process_has_its_figures() -> None:
    taken = (*assign_figures(quick=True), *request_figures(quick=True), *capacity_figures())
    told = {figure.name for figure in taken}
    for name in ("assign_all", "know_all", "one_change", "find", "assignment", "resolve_capped", "capacity", "pins"):
        assert {f"{name}_one_lane", f"{name}_eight_lanes"} <= told
