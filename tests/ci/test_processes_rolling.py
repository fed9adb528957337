"""The parts of `ci/simulate --processes --rolling`: its models, what is asked of them, restarts and what is short."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from ci.lib.processes_asking import Ask
from ci.lib.processes_cluster import Cluster, planned
from ci.lib.processes_judging import Judged
from ci.lib.processes_models import (
    BUNDLES,
    FIRST,
    LIMIT_BYTES,
    MODEL_BYTES,
    MODELS,
    SECOND,
    WORKERS,
    bundle_text,
    draw_mixed,
    model_text,
    spellings,
)
from ci.lib.processes_rest import Rest
from ci.lib.processes_restarts import Restart, Turns, read_turns
from ci.lib.processes_rolling import Outcome, Run, shortcomings
from ci.lib.processes_tally import Tally
from sie.cli.child import Child, start_child
from sie.cli.folders import Folders
from sie.cli.plan import Plan, Ports, Service
from sie.cli.settings import UpSettings
from sie.domain.hash_form import HashForm
from sie.domain.registry import RegistrySnapshot
from sie.wire.documents import parse_bundle, parse_model

AT_REST = Rest(0, {"WORK_POOL_default": 0}, 0, 0, 0.0)
RIGHT = Judged("right", "200")
TURNS = Turns(3, 1)
IN_ORDER = Restart("worker-a-2", 0, 0.5, 2.0, 10)


def test_both_bundles_serve_each_of_four_different_models_and_the_first_is_better() -> None:
    bundles = [parse_bundle(bundle_text(name), stem=name) for name in BUNDLES]
    models = [parse_model(model_text(name)) for name in MODELS]
    snapshot = RegistrySnapshot.of(bundles, models, HashForm.REFERENCE)
    assert {name: found.bundles for name, found in snapshot.serving.items()} == dict.fromkeys(MODELS, (FIRST, SECOND))
    assert len({repr(model.profiles) for model in models}) == len(MODELS) == 4


def test_memory_holds_two_models_and_no_third() -> None:
    assert 2 * MODEL_BYTES <= LIMIT_BYTES < 3 * MODEL_BYTES


def test_three_workers_share_two_bundles() -> None:
    assert sorted(Counter(WORKERS.values()).values()) == [1, 2]


def test_every_spelling_of_every_model_is_asked_for_and_a_third_of_requests_names_the_second_bundle() -> None:
    drawn = [draw_mixed(0, number) for number in range(1200)]
    assert {ask.model for ask in drawn} == {spelling for model in MODELS for spelling in spellings(model)}
    assert 300 < sum(ask.model.startswith(f"{SECOND}:/") for ask in drawn) < 500
    assert drawn == [draw_mixed(0, number) for number in range(1200)]


def test_a_request_goes_to_the_model_that_it_names_and_an_unknown_one_to_none() -> None:
    assert Ask(0, "encode", "json", (0,), model="second:/ours/mean").path == "/v1/encode/second:/ours/mean"
    assert "ours" not in Ask(0, "unknown", "json", (0,), model="ours/mean").path


def test_loads_and_unloads_are_counted_in_a_log_that_holds_other_lines_too() -> None:
    lines = (
        '{"event": "a model is loaded"}',
        "Traceback",
        '{"event": "else"}',
        "[1]",
        '{"event": "a model is unloaded"}',
    )
    assert read_turns([*lines, lines[0]]) == Turns(loads=2, unloads=1)
    assert Turns(5, 3) - Turns(2, 1) == Turns(3, 2)


def tally(*verdicts: Judged) -> Tally:
    found = Tally()
    for number, judged in enumerate(verdicts):
        found.ended(Ask(number, "encode", "json", (0,)), judged, Counter(), 0.5)
    found.answered("r", by=IN_ORDER.successor)
    return found


def cluster() -> Cluster:
    return Cluster(Plan((), "host", Ports(0, 0, 0), (), Path()), 0)


def short(
    judged: Judged = RIGHT,
    *,
    dropped: int = 0,
    restart: Restart = IN_ORDER,
    turns: Turns = TURNS,
    rest: Rest = AT_REST,
    ended: str | None = None,
) -> list[str]:
    found, system = tally(judged), cluster()
    found.dropped = dropped
    system.ended.update([ended] if ended else [])
    run = Run(1, 0, quick=True, surge=False)
    return list(shortcomings(run, found, system, Outcome([restart], {"worker-a": turns}, rest, 1.0)))


def test_nothing_is_short_where_all_is_right_or_refused_with_what_may_be_asked_again() -> None:
    assert short() == []
    assert short(Judged("refused", "503 PROVISIONING")) == []


def test_whatever_is_short_is_told() -> None:
    assert short(Judged("wrong", "500")) == ["requests"]
    assert short(dropped=1) == short(Judged("refused", "lost")) == ["connections were lost"]
    assert short(restart=Restart("worker-a-2", None, 30, 2, 0)) == ["a worker did not end in order"]
    assert short(restart=Restart("worker-b-2", 0, 1, 2, 0)) == ["a successor answered nothing"]
    assert short(turns=Turns(2, 0)) == ["models did not take turns"]
    assert short(ended="gateway") == ["something ended by itself"]
    assert short(rest=Rest(0, {"WORK_POOL_default": 1}, 0, 0, 0.0)) == ["work is left"]


def test_each_worker_has_variables_of_its_own_beside_those_of_all(tmp_path: Path) -> None:
    own = {"one": {"SIE_BUNDLE": "first"}, "two": {"SIE_BUNDLE": "second"}}
    folders = Folders(tmp_path / "state", tmp_path / "cache")
    found = planned(UpSettings(preload=()), folders, {"SIE_STREAM_STORAGE": "memory"}, own)
    bundles = {service.name: service.environ.get("SIE_BUNDLE") for service in found.plan.services}
    assert bundles == {"nats": None, "config": None, "one": "first", "two": "second", "gateway": None}
    assert found.workers == ("one", "two")
    assert {service.environ["SIE_STREAM_STORAGE"] for service in found.plan.services} == {"memory"}


def stopping(tmp_path: Path, program: str, grace_s: float) -> tuple[Cluster, Child]:
    """A cluster of one process, which has said that it is up."""
    service = Service("one", (sys.executable, "-c", program), {}, grace_s)
    log = tmp_path / "one.log"
    found = Cluster(Plan((service,), "host", Ports(0, 0, 0), (), tmp_path), 0, ("one",))
    found.running["one"] = child = start_child(service.argv, {}, log)
    while "up" not in log.read_text(encoding="utf-8"):
        assert child.poll() is None
    return found, child


@pytest.mark.parametrize(
    ("does", "grace_s", "code"), [("sys.exit(7)", 30.0, 7), ("None", 0.0, None)], ids=["ends", "goes on"]
)
async def test_a_process_that_is_stopped_stays_away_however_it_took_it(
    tmp_path: Path, does: str, grace_s: float, code: int | None
) -> None:
    program = f"import signal, sys, time; signal.signal(15, lambda *_: {does}); print('up', flush=True); time.sleep(60)"
    found, child = stopping(tmp_path, program, grace_s)
    assert await found.stop("one", child) == code
    assert (found.running, child.reaped) == ({}, True)


async def test_stopping_a_predecessor_leaves_its_successor_running(tmp_path: Path) -> None:
    found, child = stopping(tmp_path, "import time; print('up', flush=True); time.sleep(60)", 30.0)
    found.start("one")
    successor = found.running["one"]
    assert await found.stop("one", child) == -15
    assert found.running == {"one": successor}
    assert successor.poll() is None
    found.end()
