"""The whole cluster keeps its rules whatever is asked and whatever breaks, and each run can be had again."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from ci.lib.simulate import Hunt, pool
from property_tests.simulation.mutants import Swap
from sie.testing.cluster.catalogue import CatalogueFolders
from sie.testing.faults import FAULTS
from sie.testing.simulation import watch
from sie.testing.simulation.run import run_script
from sie.testing.simulation.script import Script, from_json, scripts, to_json
from sie.testing.simulation.search import draw_script

STEPS = 10_000


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> CatalogueFolders:
    return CatalogueFolders.write(tmp_path_factory.mktemp("catalogue"))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Every simulated fault is logged as a real one would be."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.ceiling(600)
def test_no_rule_is_broken_in_ten_thousand_faulted_steps(folders: CatalogueFolders) -> None:
    hunt = Hunt(seed=0, ends_s=float("inf"), steps=STEPS)
    with pool() as workers:
        for _ in hunt.run(workers, folders):
            pass
    total = hunt.total
    assert total.failure is None, f"{total.violations}\n{to_json(total.failure)}"
    assert total.steps >= STEPS
    assert set(total.faults) == {kind.__name__ for kind in FAULTS}
    usual = sum(total.faults.values()) / len(FAULTS)  # scenes bring some kinds more often than the draw does
    assert min(total.faults.values()) > usual / 4


@given(scripts(30))
def test_a_script_is_its_own_replay_file(script: Script) -> None:
    assert from_json(to_json(script)) == script


def test_a_number_always_draws_the_same_script() -> None:
    assert draw_script(7) == draw_script(7)
    assert draw_script(7) != draw_script(8)


@pytest.mark.ceiling(240)
@given(script=scripts(40, min_parts=20))
@settings(max_examples=5)
def test_two_runs_of_a_script_write_the_same_log(folders: CatalogueFolders, script: Script) -> None:
    assert run_script(script, folders).log == run_script(script, folders).log


@pytest.mark.ceiling(240)
@pytest.mark.parametrize("number", [1, 2])
def test_another_process_with_another_hash_seed_writes_the_same_log(folders: CatalogueFolders, number: int) -> None:
    script = draw_script(number)
    path = folders.root / "script.json"
    path.write_text(to_json(script), encoding="utf-8")
    logs = [replayed(path, hash_seed) for hash_seed in ("1", "2")]
    assert logs[0] == logs[1]
    assert logs[0].startswith(run_script(script, folders).log)


def replayed(path: Path, hash_seed: str) -> str:
    command = [sys.executable, "-m", "ci.lib.simulate", "--replay", str(path)]
    return subprocess.run(
        command, env=os.environ | {"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True, timeout=200
    ).stdout


def test_the_ticks_of_the_watch_are_no_turns(folders: CatalogueFolders) -> None:
    script = draw_script(3)
    plain = run_script(script, folders).log
    with Swap(watch, "TICK_S", 0.002).swapped():
        assert run_script(script, folders).log == plain
